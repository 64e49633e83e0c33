import { z } from 'zod';
import { type Diagnosis, REASONS } from '../../core/diagnosis.js';
import { stalenessOf } from '../../core/staleness.js';
import type { RowFacts } from '../../db/recovery/row-facts.js';
import type { DiagnosedRow } from './diagnose-rows.js';
import { errorOf, pauseOf } from './item-answer.js';
import { ItemAnswer } from './item-schema.js';

export const ShortDiagnosis = z.object({
  reason: z.enum(REASONS),
  sentence: z.string(),
  nextAt: z.iso.datetime().nullable(),
});

export function shortDiagnosisOf({ reason, sentence, nextAt }: Diagnosis): z.output<typeof ShortDiagnosis> {
  return { reason, sentence, nextAt: nextAt?.toISOString() ?? null };
}

export const SweptAnswer = z
  .object({ reason: z.enum(REASONS), at: z.iso.datetime() })
  .nullable()
  .describe(
    'The reason that the last sweep found for its silence, and when. Null: no sweep did, or it has moved since',
  );

export function sweptAnswer({ swept }: RowFacts): z.output<typeof SweptAnswer> {
  return swept && { reason: swept.reason, at: swept.at.toISOString() };
}

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
  priority: true,
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
    diagnosis: ShortDiagnosis,
    swept: SweptAnswer,
  })
  .meta({ id: 'ListedItem' });
export type ListedItem = z.output<typeof ListedItem>;

export function listedAnswer({ row, facts, diagnosis }: DiagnosedRow): ListedItem {
  const { item, now } = row;
  const { id, pipeline, owner, state, visit, epoch, version, priority, endReason, rescues } = item;
  return {
    id,
    pipeline,
    owner,
    state,
    live: item.endedAt === null,
    visit,
    epoch,
    version,
    priority,
    endReason,
    rescues,
    stale: stalenessOf(facts, diagnosis) !== null,
    createdAt: item.createdAt.toISOString(),
    updatedAt: item.updatedAt.toISOString(),
    enteredAt: item.enteredAt.toISOString(),
    beatAt: item.beatAt.toISOString(),
    endedAt: item.endedAt?.toISOString() ?? null,
    error: errorOf(item),
    paused: pauseOf({ item, now }),
    parked: item.parkedAt && { at: item.parkedAt.toISOString(), why: item.parkedWhy },
    diagnosis: shortDiagnosisOf(diagnosis),
    swept: sweptAnswer(row),
  };
}
