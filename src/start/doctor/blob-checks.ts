import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { giveUpAfter } from '../../api/items/engine-health.js';
import type { Config } from '../../config.js';
import { messageOf } from '../../core/errors.js';
import { goneTimeOf } from '../../db/recovery/gone-worker.js';
import { createOpenBlobStore } from '../parts/blob-store.js';
import { type Check, type Finding, type Patient, reportOk, reportProblem, reportWarning } from './check.js';

/** A store on another continent answers each of the five requests of the proof within a second. */
const ANSWER_WITHIN_MS = 10_000;

export const blobChecks: readonly Check[] = [
  // A little longer, so that this check words the finding.
  { name: 'blob store', limitMs: ANSWER_WITHIN_MS + 1_000, run: checkBlobStore },
  { name: 'blob folder', needs: 'migrations', run: checkSharing },
];

async function checkBlobStore({ config }: Patient): Promise<Finding> {
  const { blobs, dataDir, database } = config;
  if (blobs.kind === 'disk' && !blobs.isNamed && database.url === undefined && !existsSync(dataDir)) {
    return reportWarning(`${dataDir}, where blobs are kept, is not there yet.`, 'npm start makes it.');
  }
  const place = placeOf(blobs);
  try {
    await giveUpAfter(ANSWER_WITHIN_MS, prove(config));
    return reportOk(`Blobs can be written, read and deleted in ${place}.`);
  } catch (error) {
    return reportProblem(`Blobs cannot be kept in ${place} (${messageOf(error)}).`, REMEDIES[blobs.kind]);
  }
}

async function prove(config: Config): Promise<void> {
  const store = await createOpenBlobStore(config)();
  try {
    await store.check();
  } finally {
    await store.close();
  }
}

function placeOf(blobs: Config['blobs']): string {
  switch (blobs.kind) {
    case 'disk':
      return blobs.folder;
    case 'azure':
      return `the Azure container ${blobs.container}`;
    case 's3':
      return `the S3 bucket ${blobs.bucket}${blobs.endpoint === undefined ? '' : ` at ${blobs.endpoint}`}`;
  }
}

const REMEDIES = {
  disk: 'Give the folder to the user who starts, make room on its disk, or set BLOB_FOLDER to another folder.',
  azure:
    'Create the container, or correct AZURE_STORAGE_CONNECTION_STRING and AZURE_STORAGE_CONTAINER; docs/operations.md, "Blobs", names the permissions.',
  s3: 'Create the bucket, or correct the settings that begin with S3_; docs/operations.md, "Blobs", names the permissions.',
};

/** Whether a folder is shared cannot be seen from one machine, only whether it would have to be. */
async function checkSharing({ config: { blobs }, pool }: Patient): Promise<Finding> {
  if (blobs.kind !== 'disk') return reportOk('Every process reaches the same store.');
  const { rows = [] } =
    (await pool?.query<{ host: string }>(
      `SELECT DISTINCT host FROM workers WHERE ${goneTimeOf('workers')} IS NULL ORDER BY host`,
    )) ?? {};
  const others = rows.map(({ host }) => host).filter((host) => host !== hostname());
  if (others.length === 0) return reportOk('All workers run on this machine, and so does its folder of blobs.');
  if (blobs.isNamed)
    return reportOk(`${blobs.folder} must be the same shared folder here and on ${others.join(', ')}.`);
  return reportWarning(
    `Workers run on ${others.join(', ')} too, and each machine keeps blobs in a folder of its own.`,
    'Set BLOB_FOLDER to a folder that all machines share, or BLOB_STORE to azure or s3.',
  );
}
