import { z } from 'zod';
import { estimateOf } from '../../core/queue-estimate.js';
import { findPosition, QUEUE_CAP, readThroughput } from '../../db/reads/queue.js';
import type { ApiDeps } from '../parts.js';
import type { ItemAnswer } from './item-schema.js';

/** How long it may take until the automatic work on an item has ended. */
export const EstimateAnswer = z
  .object({
    seconds: z.int().nullable(),
    why: z.string().nullable().describe('Why it is not known'),
    basis: z
      .object({
        sampleSize: z.int().describe('The latest items of the last 6 hours that it is computed from'),
        typicalSeconds: z.number().describe('The median time of an item, without waiting'),
        atOnce: z.number().describe('How many of their steps ran at once, on average, while any did'),
      })
      .nullable()
      .describe('Null: nothing has ended in that time'),
  })
  .describe('Until the automatic work on it has ended, if that goes as in the last 6 hours while there was work');

export const QueuePlace = z
  .object({ position: z.int().min(1), estimate: EstimateAnswer })
  .nullable()
  .describe(
    'An estimate of its place in the order of Temporal: what runs, then level by level of priority, in which the owners take turns; ' +
      'without Temporal’s setting `matching.enableFairness` the order is age alone. ' +
      `${QUEUE_CAP + 1} for that place and all behind it; null: it waits for a person, is parked or has ended`,
  );
export type QueuePlace = z.output<typeof QueuePlace>;

/** The place of a live item in its pipeline's queue. */
export async function findQueuePlace(
  { pool, pipelines }: Pick<ApiDeps, 'pool' | 'pipelines'>,
  { id, paused, live, pipeline: name }: Pick<ItemAnswer, 'id' | 'paused' | 'live' | 'pipeline'>,
): Promise<QueuePlace> {
  const pipeline = pipelines[name];
  const position = live && pipeline ? await findPosition(pool, pipeline, id) : null;
  if (!pipeline || position === null) return null;
  if (position > QUEUE_CAP) {
    return { position, estimate: { seconds: null, why: `at least ${QUEUE_CAP} are before it`, basis: null } };
  }
  return { position, estimate: estimateOf(position, await readThroughput(pool, pipeline), paused !== null) };
}
