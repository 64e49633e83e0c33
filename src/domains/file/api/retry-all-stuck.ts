import type { FastifyBaseLogger } from 'fastify';
import type pg from 'pg';
import { isAppError, messageOf } from '../../../core/errors.js';
import type { Pipeline } from '../../../core/pipeline.js';
import { databaseFaultOf } from '../../../db/postgres/database-fault.js';
import { rescueTogether } from '../../../db/spine/rescue-together.js';
import type { Actor } from '../../../db/spine/transition.js';
import { listToRetry, type RetryCandidate } from '../db/stuck-files.js';

export interface RetriedAll {
  success: boolean;
  retriedCount: number;
  skippedCount: number;
  errors: { fileId: string; error: string }[];
}

interface Asked {
  /** Null: the files of all owners. */
  owner: string | null;
  actor: Actor;
  log: FastifyBaseLogger;
  /** Files of one transaction, instead of a thousand. */
  batch?: number;
}

/** A transaction over so many takes under a second, so that its locks are short. */
const BATCH = 1_000;

/** Half of the time that a request may take. Whoever asks for more files than that asks again. */
const MAX_MS = 30_000;

/** 25 a second: about as many runs as a small Temporal starts, so that other items' starts are not delayed. */
const START_EVERY_MS = 40;

/** As many as a person reads; a defect fails every file in the same words. */
const ERRORS_TOLD = 100;

/** Rescues stuck files batch by batch. Their rows are marked and counted before this answers, whether Temporal is there or not, and the
 *  dispatcher starts their runs at a pace. */
export async function retryAllStuck(pool: pg.Pool, pipeline: Pipeline, asked: Asked): Promise<RetriedAll> {
  const { owner, log, batch = BATCH } = asked;
  const done: RetriedAll = { success: true, retriedCount: 0, skippedCount: 0, errors: [] };
  const until = performance.now() + MAX_MS;
  let behind: string | null = null;
  for (;;) {
    const found: RetryCandidate[] = await listToRetry(pool, pipeline, { owner, behind, limit: batch });
    const ids = found.filter(({ isAlive }) => !isAlive).map(({ id }) => id);
    done.skippedCount += found.length - ids.length;
    await retryBatch(pool, pipeline, { ...asked, ids, done });
    behind = found.at(-1)?.id ?? null;
    if (found.length < batch) break;
    if (performance.now() > until) {
      done.errors.push({ fileId: behind ?? '', error: 'there are more stuck files behind this one; ask again' });
      break;
    }
  }
  log.info(
    { owner, retried: done.retriedCount, skipped: done.skippedCount, errors: done.errors.length },
    'stuck files retried',
  );
  return { ...done, success: done.errors.length === 0, errors: done.errors.slice(0, ERRORS_TOLD) };
}

interface Batch extends Asked {
  ids: readonly string[];
  done: RetriedAll;
}

/** One file that cannot be rescued must not keep the others, so a batch that fails is tried file by file. */
async function retryBatch(pool: pg.Pool, pipeline: Pipeline, { ids, actor, done, log }: Batch): Promise<void> {
  if (ids.length === 0) return;
  const pace = { everyMs: START_EVERY_MS, behind: done.retriedCount };
  try {
    const { rescued, spent } = await rescueTogether(pool, pipeline, { ids, actor, pace });
    done.retriedCount += rescued.length;
    done.skippedCount += spent.length;
  } catch (error) {
    if (databaseFaultOf(error) === 'away') throw error;
    const [first, ...more] = ids;
    if (first !== undefined && more.length === 0) {
      log.error({ err: error, item: first }, 'stuck file could not be retried');
      done.errors.push({ fileId: first, error: isAppError(error) ? error.message : wordsOf(error) });
      return;
    }
    const half = Math.ceil(ids.length / 2);
    await retryBatch(pool, pipeline, { ...{ actor, done, log, owner: null }, ids: ids.slice(0, half) });
    await retryBatch(pool, pipeline, { ...{ actor, done, log, owner: null }, ids: ids.slice(half) });
  }
}

/** Callers are told nothing internal. */
function wordsOf(error: unknown): string {
  return /lock|deadlock/i.test(messageOf(error))
    ? 'it is being written at this moment; try again'
    : 'it could not be retried';
}
