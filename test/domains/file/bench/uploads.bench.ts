import { randomBytes } from 'node:crypto';
import { say } from '../../../../bench/compare.js';
import { textTable } from '../../../audit/text-table.js';
import { type Installation, type PartName, startInstallation } from '../../../support/installation.js';
import { memoryHeldBy, peakMemoryOf } from '../../../support/memory.js';
import { paddedPdf } from '../support/padded-pdf.js';

/** The whole batch, unless BENCH_UPLOADS says how many files. */
const FILES = Number(process.env['BENCH_UPLOADS'] ?? 500);
/** 2 GB in all. */
const BYTES = 4 * 1_024 ** 2;
/** As many as a browser opens to one server. */
const AT_ONCE = 6;
const GOAL_MB = 300;

/** A local model embeds some ten chunks a second, and each file has one. */
const READY_WITHIN_MS = 15 * 60_000;

const MEASURED: readonly PartName[] = ['api', 'worker-1', 'worker-2'];

interface Registered {
  fileId: string;
  uploadUrl: string;
}

/** Uploads one batch of 2 GB through the API, confirms each file and waits until all are ready. Goal: no process of the API or the
 *  workers ever holds 300 MB more than it did when it was idle. */
export async function benchmark(): Promise<boolean> {
  const installation = await startInstallation();
  try {
    const authorization = `Bearer ${await installation.token('ada')}`;
    await passThrough(installation, authorization, 1); // loads what is loaded once: the store, the extractor, the model
    const idle = memoryOf(installation, memoryHeldBy);
    const begunAt = performance.now();
    const uploadedMs = await passThrough(installation, authorization, FILES);
    const readyMs = Math.round(performance.now() - begunAt);
    const most = memoryOf(installation, peakMemoryOf);
    const grownMb = most.map((each, at) => each - (idle[at] ?? 0));
    const rows = MEASURED.map((name, at) => [name, ...[idle, most, grownMb].map((all) => all[at] ?? 0)]);
    say(textTable(['process', 'idle MB', 'most MB', 'grown MB'], rows).join('\n'));
    const isReached = grownMb.every((each) => each < GOAL_MB);
    const figures = { files: FILES, megabytes: (FILES * BYTES) / 1_024 ** 2, uploadedMs, readyMs, grownMb, isReached };
    say(`goal: less than ${GOAL_MB} MB: ${isReached ? 'reached' : 'MISSED'}`);
    say(JSON.stringify(figures));
    return isReached;
  } finally {
    await installation.stop();
  }
}

/** In megabytes, of each process. */
function memoryOf(installation: Installation, of: (pid: number) => number): number[] {
  return MEASURED.map((name) => Math.round(of(installation.pidOf(name)) / 1_024 ** 2));
}

/** Returns the milliseconds until the last file was confirmed. */
async function passThrough(installation: Installation, authorization: string, count: number): Promise<number> {
  const begunAt = performance.now();
  const names = Array.from({ length: count }, (_, n) => `report-${n}.pdf`);
  const files = names.map((name, n) => ({
    ...{ clientId: String(n), name, mimeType: 'application/pdf', sizeBytes: contentOf(name).length },
  }));
  const json = { authorization, 'content-type': 'application/json' };
  const batch = (await call(installation, '/api/v2/uploads/batches', {
    ...{ method: 'POST', headers: json, body: JSON.stringify({ files }) },
  })) as { batchId: string; files: Registered[] };
  const waiting = batch.files.entries();
  const lane = async (): Promise<void> => {
    for (const [at, { fileId, uploadUrl }] of waiting) {
      await call(installation, uploadUrl, { method: 'PUT', body: new Uint8Array(contentOf(names[at] ?? '')) });
      const path = `/api/v2/uploads/batches/${batch.batchId}/files/${fileId}/confirm`;
      await call(installation, path, { method: 'POST', headers: json, body: '{}' });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  const uploadedMs = Math.round(performance.now() - begunAt);
  await allReady(installation, batch.batchId, count);
  return uploadedMs;
}

const random = randomBytes(BYTES);

function contentOf(name: string): Buffer {
  return paddedPdf(`The report ${name} tells of a harbour`, BYTES, (length) => random.subarray(0, length));
}

async function allReady(installation: Installation, batchId: string, count: number): Promise<void> {
  const until = performance.now() + READY_WITHIN_MS;
  for (;;) {
    const { rows } = await installation.pool.query<{ ready: number; failed: number }>(
      `SELECT count(*) FILTER (WHERE state = 'ready')::int AS ready, count(*) FILTER (WHERE state = 'failed')::int AS failed
       FROM items JOIN files USING (id) WHERE batch_id = $1`,
      [batchId],
    );
    const { ready = 0, failed = 0 } = rows[0] ?? {};
    if (ready === count) return;
    if (failed > 0) throw new Error(`${failed} files failed`);
    if (performance.now() > until) throw new Error(`only ${ready} of ${count} files are ready`);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

/** A loaded API may ask a caller to come again. */
async function call({ url }: Installation, path: string, init: RequestInit): Promise<unknown> {
  for (;;) {
    const response = await fetch(new URL(path, url), init);
    if (response.ok) return response.json();
    if (response.status !== 503 && response.status !== 429) throw new Error(`${path}: ${await response.text()}`);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
}
