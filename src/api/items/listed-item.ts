import { z } from 'zod';
import { type Diagnosis, REASONS } from '../../core/diagnosis.js';
import type { RowFacts } from '../../db/recovery/row-facts.js';
import { errorOf, pauseOf } from './item-answer.js';
import { ItemAnswer } from './item-schema.js';

/** A line of a list: the first fields of the whole answer. */
export const ListedItem = ItemAnswer.pick({
  id: true,
  pipeline: true,
  owner: true,
  state: true,
  live: true,
  visit: true,
  epoch: true,
  version: true,
  createdAt: true,
  updatedAt: true,
  enteredAt: true,
  beatAt: true,
  endedAt: true,
  endReason: true,
  error: true,
  paused: true,
  parked: true,
})
  .extend({
    rescues: z.int(),
    stale: z.boolean().describe('No sign of life for longer than its pipeline promises'),
    diagnosis: z.object({ reason: z.enum(REASONS), sentence: z.string(), nextAt: z.iso.datetime().nullable() }),
  })
  .meta({ id: 'ListedItem' });
export type ListedItem = z.output<typeof ListedItem>;

export function listedAnswer({ item, now }: RowFacts, diagnosis: Diagnosis, stale: boolean): ListedItem {
  const { id, pipeline, owner, state, visit, epoch, version, endReason, rescues } = item;
  return {
    id,
    pipeline,
    owner,
    state,
    live: item.endedAt === null,
    visit,
    epoch,
    version,
    endReason,
    rescues,
    stale,
    createdAt: item.createdAt.toISOString(),
    updatedAt: item.updatedAt.toISOString(),
    enteredAt: item.enteredAt.toISOString(),
    beatAt: item.beatAt.toISOString(),
    endedAt: item.endedAt?.toISOString() ?? null,
    error: errorOf(item),
    paused: pauseOf({ item, now }),
    parked: item.parkedAt && { at: item.parkedAt.toISOString(), why: item.parkedWhy },
    diagnosis: {
      reason: diagnosis.reason,
      sentence: diagnosis.sentence,
      nextAt: diagnosis.nextAt?.toISOString() ?? null,
    },
  };
}
