import { z } from 'zod';
import { REASONS } from '../../core/diagnosis.js';
import type { Pipeline } from '../../core/pipeline.js';
import { listStuck } from '../../db/recovery/stuck.js';
import { OPERATORS } from '../http/permissions.js';
import { problems } from '../http/problem.js';
import { textUpTo } from '../http/text-up-to.js';
import { Degraded } from '../items/degraded.js';
import { type DiagnosedRow, diagnoseRows } from '../items/diagnose-rows.js';
import { shortDiagnosisOf, ShortDiagnosis, SweptAnswer, sweptAnswer } from '../items/listed-item.js';
import { sweptAsOf } from '../items/swept-as-of.js';
import type { ApiParts, App } from '../parts.js';

/** As many as a person looks through. */
export const STUCK_SHOWN = 50;

const Time = z.iso.datetime();

export const StuckItem = z.object({
  id: z.uuid(),
  pipeline: z.string(),
  owner: z.string(),
  state: z.string(),
  since: Time.describe('Its last sign of life'),
  rescues: z.int(),
  diagnosis: ShortDiagnosis.extend({ nextAction: z.string() }),
  swept: SweptAnswer,
});

export function stuckAnswer({ row, diagnosis }: DiagnosedRow): z.output<typeof StuckItem> {
  const { id, pipeline, owner, state, beatAt, rescues } = row.item;
  return {
    id,
    pipeline,
    owner,
    state,
    rescues,
    since: beatAt.toISOString(),
    diagnosis: { ...shortDiagnosisOf(diagnosis), nextAction: diagnosis.nextAction },
    swept: sweptAnswer(row),
  };
}

const Query = z.strictObject({
  pipeline: textUpTo(100).optional(),
  reason: z.enum(REASONS).optional().describe('The reason that the last sweep found (`swept`), as of `asOf`'),
});

const Answer = z.object({
  items: z.array(StuckItem).describe('Longest stopped first'),
  capped: z.boolean().describe('There may be more'),
  asOf: Time.nullable().describe('When the last sweep ended. Null: there was no sweep yet'),
  degraded: Degraded,
});

export function addStuckRoute(app: App, deps: ApiParts): void {
  app.get(
    '/api/v1/stuck',
    {
      config: { access: OPERATORS },
      schema: {
        tags: ['items'],
        summary: 'Items that give no sign of life, each with why and what comes next',
        querystring: Query,
        response: { 200: Answer, ...problems() },
      },
    },
    async ({ query: { pipeline, reason } }) => {
      const pipelines = Object.values(deps.pipelines).filter(({ name }) => pipeline === undefined || name === pipeline);
      const names = pipelines.map(({ name }) => name);
      const [isEngineThere, asOf, found] = await Promise.all([
        deps.engineHealth.isThere(),
        sweptAsOf(deps, names),
        Promise.all(pipelines.map((each) => findStuck(deps, each, reason))),
      ]);
      const rows = found.flat().toSorted((a, b) => a.item.beatAt.getTime() - b.item.beatAt.getTime());
      const diagnosed = await diagnoseRows(deps, rows.slice(0, STUCK_SHOWN), { isEngineThere });
      return { items: diagnosed.map(stuckAnswer), capped: rows.length > STUCK_SHOWN, asOf, degraded: !isEngineThere };
    },
  );
}

async function findStuck({ pool }: ApiParts, pipeline: Pipeline, swept: string | undefined) {
  return (await listStuck(pool, pipeline, { limit: STUCK_SHOWN + 1, swept })).map(({ facts }) => facts);
}
