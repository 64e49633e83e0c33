import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { z } from 'zod';
import { msOf } from '../../../core/span.js';
import { stageOf } from '../../../core/machine.js';
import type { Tables } from '../../../config/settings-part.js';
import { whole } from '../../../config/values.js';
import { file } from '../table.js';

/** The time that a stage needs besides the reading itself: to fetch 100 MB from a slow store, to wait for a file ahead, and to write. */
const AROUND_MS = 120_000;

export const extractorVariables = {
  // The longest document tried, a book of 117 pages, takes two seconds. Reading pictures takes seconds for each page, so four minutes
  // are a scan of some hundred pages. Temporal's own limit must not be reached before ours, which gives a reason to the owner.
  FILE_EXTRACT_TIMEOUT_MS: whole(1_000, msOf(stageOf(file, 'extract').row.progressWithin ?? '10m') - AROUND_MS).default(
    240_000,
  ),
  // Of one process; a worker has two. The largest document tried takes a third. A spreadsheet with a million cells takes most of it.
  FILE_EXTRACT_MEMORY_MB: whole(384, 16_384).default(1_024),
  FILE_EXTRACT_TEMP_DIR: z.string().optional(),
};

type Given = z.output<z.ZodObject<typeof extractorVariables>>;

export function extractorOf(given: Given, projectRoot: string) {
  return {
    timeoutMs: given.FILE_EXTRACT_TIMEOUT_MS,
    maxBytes: given.FILE_EXTRACT_MEMORY_MB * 1_024 ** 2,
    temporaryFolder: resolve(projectRoot, given.FILE_EXTRACT_TEMP_DIR ?? tmpdir()),
  };
}

/** A stage that may take less than the reading that it waits for would end before the reading's own limit is reached. */
export function extractorProblemsIn(given: Given, { file: table }: Tables): string[] {
  if (!table) return [];
  const leastMs = given.FILE_EXTRACT_TIMEOUT_MS + AROUND_MS;
  const { within } = stageOf(table, 'extract').row;
  if (msOf(within) >= leastMs) return [];
  const why = `which is FILE_EXTRACT_TIMEOUT_MS and ${AROUND_MS} ms to fetch the file`;
  return [`FILE_STAGE_WITHIN: expected at least ${leastMs}ms for extract, ${why}, got ${within}`];
}
