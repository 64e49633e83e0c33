import { z } from 'zod';
import { stagesIn } from '../core/machine.js';
import type { Pipeline, StageRow } from '../core/pipeline.js';
import { isSpan, msOf, type Span } from '../core/span.js';
import { PIPELINES as TABLES } from '../domains/tables.js';
import { beatsText, byName, spansText, spanText, whole } from './values.js';

export const PIPELINES: Readonly<Record<string, Pipeline>> = TABLES;

/** Every pipeline's thresholds can be set, by variables with its name in front: `<PIPELINE>_SWEEP_EVERY` and so on. */
export const PIPELINE_NAMES = Object.keys(PIPELINES);

export function prefixOf(pipeline: string): string {
  return `${pipeline.toUpperCase().replaceAll('-', '_')}_`;
}

/** The variables of one pipeline, without its prefix. */
export function overlayShapeOf(pipeline: string) {
  const stages = Object.values(PIPELINES[pipeline]?.states ?? {}).flatMap(stagesIn);
  const names = stages.map(({ stage }) => stage);
  return z.object({
    ...overlay.shape,
    STAGE_TRIES: byName(names, 'a whole number from 1 to 100', isTries).optional(),
    STAGE_WITHIN: byName(names, 'a span of time such as 2m', isSpan).optional(),
    STAGE_BACKOFF: byName(names, 'the first wait and the longest, such as 5s-20s', isWaits).optional(),
  });
}

function isTries(value: string): boolean {
  return /^\d{1,3}$/.test(value) && Number(value) >= 1 && Number(value) <= 100;
}

function isWaits(value: string): boolean {
  const [first = '', max = '', ...more] = value.split('-');
  return isSpan(first) && isSpan(max) && more.length === 0 && msOf(first) <= msOf(max);
}

const overlay = z.object({
  SWEEP_EVERY: spanText.optional(),
  STALE_AFTER: spanText.optional(),
  STUCK_AFTER: spanText.optional(),
  BEATS: beatsText.optional(),
  RESCUE_BUDGET: whole(0, 1_000).optional(),
  RESCUE_BACKOFF: spansText.optional(),
  RESCUE_FORGOTTEN_AFTER: spanText.optional(),
  RESCUE_OLDEST: spanText.optional(),
  MAX_LIVE_PER_OWNER: whole(1, 1_000_000).optional(),
});

export type PipelineOverlay = ReturnType<typeof overlayOf>;

/** A setting that is not set is undefined, and the pipeline's table holds. */
export function overlayOf(given: Partial<z.output<ReturnType<typeof overlayShapeOf>>>) {
  return {
    stages: stagesOf(given),
    sweep: { every: given.SWEEP_EVERY, staleAfter: given.STALE_AFTER, stuckAfter: given.STUCK_AFTER },
    beats: given.BEATS,
    rescue: {
      budget: given.RESCUE_BUDGET,
      backoff: given.RESCUE_BACKOFF,
      budgetResetAfter: given.RESCUE_FORGOTTEN_AFTER,
      oldestRescued: given.RESCUE_OLDEST,
    },
    livePerOwner: given.MAX_LIVE_PER_OWNER,
  };
}

/** The options that are set, by stage. */
function stagesOf({ STAGE_TRIES = {}, STAGE_WITHIN = {}, STAGE_BACKOFF = {} }: Parameters<typeof overlayOf>[0]) {
  const names = new Set([STAGE_TRIES, STAGE_WITHIN, STAGE_BACKOFF].flatMap((each) => Object.keys(each)));
  return Object.fromEntries(
    [...names].map((name) => [name, stageOptionsOf(STAGE_TRIES[name], STAGE_WITHIN[name], STAGE_BACKOFF[name])]),
  );
}

function stageOptionsOf(
  tries?: string,
  within?: string,
  waits?: string,
): Partial<Pick<StageRow, 'tries' | 'within' | 'backoff'>> {
  const [first, max] = (waits?.split('-') ?? []) as Span[];
  return {
    ...(tries !== undefined && { tries: Number(tries) }),
    ...(within !== undefined && { within: within as Span }),
    ...(first !== undefined && max !== undefined && { backoff: { first, max } }),
  };
}

/** The variables of one pipeline, without the pipeline's prefix. */
export function withoutPrefix(
  pipeline: string,
  given: Readonly<Record<string, string | undefined>>,
): Record<string, string | undefined> {
  const prefix = prefixOf(pipeline);
  const ours = Object.entries(given).filter(([name]) => name.startsWith(prefix));
  return Object.fromEntries(ours.map(([name, value]) => [name.slice(prefix.length), value]));
}
