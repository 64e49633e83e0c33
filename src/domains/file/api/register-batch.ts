import { v7 as uuidv7 } from 'uuid';
import type { z } from 'zod';
import type { Caller } from '../../../api/http/auth.js';
import { actorOf } from '../../../api/http/permissions.js';
import type { Intake } from '../../../api/items/accept-items.js';
import { AppError, type FieldError } from '../../../core/errors.js';
import { isMailAddress } from '../../../core/mail-address.js';
import type { Pipeline } from '../../../core/pipeline.js';
import type { Answer } from '../../../db/spine/idempotency.js';
import type { JsonObject } from '../../../ports/stage.js';
import { blobPrefixOf } from '../db/blob-key.js';
import { type AnnouncedFile, faultsOfFiles, type UploadLimits } from '../core/check-upload.js';
import { takenType } from '../core/upload-types.js';
import { insertBatch } from '../db/batches.js';
import { fileRow } from '../db/files.js';
import type { UploadDeps } from './upload-deps.js';
import type { BatchBody, KeptBatch, RegisteredBatch } from './upload-schema.js';

/** Faults that the sentence names. The list of the answer has all of them. */
const FAULTS_TOLD = 5;

/** Refuses the whole batch if a file is not taken, and names every fault. */
export function assertTaken(files: readonly AnnouncedFile[], limits: UploadLimits): void {
  const faults = faultsOfFiles(files, limits);
  if (faults.length === 0) return;
  const more = faults.length > FAULTS_TOLD ? `; and ${faults.length - FAULTS_TOLD} more` : '';
  const told = faults.slice(0, FAULTS_TOLD).map((fault) => sentenceOf(fault, files));
  throw new AppError('invalid_input', `${told.join('; ')}${more}`, { errors: faults });
}

function sentenceOf({ path, message }: FieldError, files: readonly AnnouncedFile[]): string {
  const index = Number(path.split('.')[1]);
  return `${path} (${JSON.stringify(files[index]?.name.slice(0, 100) ?? '')}) ${message}`;
}

interface Registering {
  caller: Caller;
  pipeline: Pipeline;
  batchTimeoutMs: number;
  body: BatchBody;
}

/** Creates the batch and all of its files, or none of them. */
export async function registerBatch(
  intake: Intake,
  { caller, pipeline, batchTimeoutMs, body }: Registering,
): Promise<Answer> {
  const { sub: owner, email } = caller;
  const { files, metadata = {} } = body;
  const batchId = uuidv7();
  const batch = { id: batchId, owner, files: files.length, lastsMs: batchTimeoutMs };
  const { expiresAt } = await insertBatch(intake.sql, { ...batch, metadata: metadata as JsonObject });
  const own = {
    batchId,
    owner,
    blobPrefix: blobPrefixOf(owner),
    email: email && isMailAddress(email) ? email : undefined,
  };
  const registered: z.output<typeof KeptBatch>['files'] = [];
  for (const file of files) {
    const { clientId, name, sizeBytes } = file;
    const sha256 = file.sha256?.toLowerCase();
    // `assertTaken` has refused a file that has none.
    const mimeType = takenType(name, file.mimeType) ?? file.mimeType;
    const row = fileRow({ ...own, clientId, name, mimeType, sizeBytes, sha256 });
    const { id } = await intake.create(pipeline, { actor: actorOf(caller), trigger: 'registered', row });
    registered.push({ clientId, fileId: id, sizeBytes, sha256: sha256 ?? null });
  }
  return { status: 201, body: { batchId, expiresAt: expiresAt.toISOString(), files: registered } };
}

/** The kept answer with the addresses for the bytes: the store's own where it signs requests, ours otherwise. */
export async function withAddresses(
  deps: UploadDeps,
  owner: string,
  { batchId, expiresAt, files }: z.output<typeof KeptBatch>,
): Promise<z.output<typeof RegisteredBatch>> {
  const until = new Date(expiresAt);
  const prefix = blobPrefixOf(owner);
  const blobs = await deps.blobs();
  const addressed = files.map(async ({ clientId, fileId, sizeBytes, sha256 }) => {
    const expected = { sizeBytes, ...(sha256 !== null && { sha256 }) };
    const signed = await blobs.signPut(`${prefix}${fileId}`, expected, until);
    if (!signed) return { clientId, fileId, uploadUrl: ownAddress(deps, fileId, until) };
    return { clientId, fileId, uploadUrl: signed.url, uploadHeaders: { ...signed.headers } };
  });
  return { batchId, expiresAt, files: await Promise.all(addressed) };
}

function ownAddress({ signatures, publicUrl }: UploadDeps, fileId: string, until: Date): string {
  if (signatures) return `${publicUrl}${signatures.pathOf(fileId, until)}`;
  const remedy = 'set STATUS_LINK_SECRET, or a blob store that signs requests by itself';
  throw new AppError('switched_off', `this installation has no secret to sign upload addresses with; ${remedy}`);
}

/** A signature for the probe must only be possible, and nobody is told of it. */
const PROBE_MS = 60_000;

/** Refuses before anything is created where no address could be given for the bytes: the store cannot be opened, has no keys to sign with,
 *  or leaves the signing to us and we have no secret. */
export async function assertAddressable(deps: UploadDeps): Promise<void> {
  const blobs = await deps.blobs();
  const soon = new Date(Date.now() + PROBE_MS);
  const probe = await blobs.signPut(`${blobPrefixOf('')}${uuidv7()}`, { sizeBytes: 1 }, soon);
  if (!probe) ownAddress(deps, '', soon);
}
