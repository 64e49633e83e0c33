import { z } from 'zod';
import { type CanarySettings, FAULT_KINDS, FAULT_STAGES } from '../core/canary-settings.js';
import { ERROR_CLASSES } from '../../../core/error-class.js';
import { AppError } from '../../../core/errors.js';
import type { Pipeline } from '../../../core/pipeline.js';
import type { RunInput } from '../../../core/run.js';
import { canaryRow, findCanary } from '../db/canaries.js';
import { type Answer, answerOnce } from '../../../db/spine/idempotency.js';
import { createItem } from '../../../db/spine/items.js';
import type { Sql } from '../../../ports/sql.js';
import { callerOf } from '../../../api/http/access.js';
import type { ApiDeps, App } from '../../../api/app.js';
import type { Caller } from '../../../api/http/auth.js';
import { IdempotencyHeaders } from '../../../api/http/idempotency-key.js';
import { ItemParams } from '../../../api/items/item-schema.js';
import { actorOf, hasRole, maySee, noSuchItem, WRITERS } from '../../../api/http/permissions.js';
import { problems } from '../../../api/http/problem.js';
import { tellEngine } from '../../../api/items/tell-engine.js';
import { text } from '../../../api/http/text-up-to.js';

const TAGS = ['canaries'];

/** Ten minutes: the canary's own limit on a stage is a little more. */
const StageMs = z.int().min(0).max(600_000);

const FaultOfStage = z.strictObject({
  stage: z.enum(FAULT_STAGES),
  unit: text(100).optional().describe('Of a fan-out: only this unit'),
});

const Fault = z.discriminatedUnion('kind', [
  FaultOfStage.extend({
    kind: z.enum(FAULT_KINDS),
    attempt: z.int().min(1).max(20).describe('On which attempt at the task, counted from 1'),
  }),
  FaultOfStage.extend({
    kind: z.literal('failWhile'),
    item: z.uuid().describe('Every attempt fails as long as this item has not ended'),
    class: z.enum(ERROR_CLASSES),
  }),
]);

const CanaryBody = z.strictObject({
  stageMs: z
    .array(StageMs)
    .length(3)
    .optional()
    .describe('How long each of the three stages takes; nothing by default'),
  units: z.int().min(0).max(1_000).optional().describe('Tasks of the fan-out after the first stage; 0: no fan-out'),
  decision: z.boolean().optional().describe('Ask the owner before the third stage'),
  faults: z.array(Fault).max(20).optional().describe('What goes wrong on purpose; for admins'),
});

const CanaryAccepted = z.object({
  id: z.uuid(),
  state: z.string(),
  createdAt: z.iso.datetime(),
  statusUrl: z.string(),
});

const CanaryAnswer = z.object({
  id: z.uuid(),
  owner: z.string(),
  state: z.string(),
  stageMs: z.array(z.int()),
  units: z.int(),
  decision: z.boolean(),
  faults: z.array(Fault),
  effects: z
    .array(
      z.object({
        stage: z.string(),
        unit: z.string(),
        visit: z.int(),
        attempt: z.int(),
        at: z.iso.datetime(),
      }),
    )
    .describe(
      'What its stages left, oldest first; at most 5,000. The same stage, unit and visit twice is a doubled effect',
    ),
  effectsCount: z.int(),
});

type Deps = Pick<ApiDeps, 'pool' | 'prisma' | 'engine' | 'pipelines'>;

export function addCanaryRoutes(app: App, { pool, prisma, engine, pipelines }: Deps): void {
  app.post(
    '/api/v1/canaries',
    {
      config: { access: WRITERS },
      schema: {
        tags: TAGS,
        summary: 'Submit a canary: an item that proves an installation',
        headers: IdempotencyHeaders,
        body: CanaryBody,
        response: { 202: CanaryAccepted, ...problems(409, 413, 415) },
      },
    },
    async (request, reply) => {
      const caller = callerOf(request);
      const { body, headers } = request;
      assertMayAskFor(caller, body.faults ?? []);
      const settings: CanarySettings = {
        stageMs: body.stageMs ?? [0, 0, 0],
        units: body.units ?? 0,
        decision: body.decision ?? false,
        faults: body.faults ?? [],
      };
      const key = headers['idempotency-key'];
      const pipeline = canaryOf(pipelines);
      const runs: RunInput[] = [];
      const make = (sql: Sql) => createCanary(sql, pipeline, { caller, settings, runs });
      const keyed = { caller: caller.sub, route: 'POST /api/v1/canaries', key, body };
      const answer = await answerOnce(pool, keyed, make);
      for (const run of runs) await tellEngine(request.log, () => engine.start(run));
      return reply.code(202).send(CanaryAccepted.parse(answer.body));
    },
  );

  app.get(
    '/api/v1/canaries/:id',
    {
      schema: {
        tags: TAGS,
        summary: 'What a canary was asked to do, and the effects it left',
        params: ItemParams,
        response: { 200: CanaryAnswer, ...problems(404) },
      },
    },
    async (request) => {
      const canary = await findCanary(prisma, request.params.id);
      if (!canary || !maySee(callerOf(request), canary)) throw noSuchItem(request.params.id);
      return { ...canary, effects: canary.effects.map((each) => ({ ...each, at: each.at.toISOString() })) };
    },
  );
}

/** Faults kill and freeze workers that others use too. */
function assertMayAskFor(caller: Caller, faults: readonly unknown[]): void {
  if (faults.length === 0 || hasRole(caller, 'admin')) return;
  throw new AppError('not_allowed', 'only an admin may ask for faults', {
    errors: [{ path: 'faults', message: 'needs the role admin' }],
  });
}

function canaryOf(pipelines: Readonly<Record<string, Pipeline>>): Pipeline {
  const { canary } = pipelines;
  if (!canary) throw new Error('there is no pipeline canary');
  return canary;
}

interface NewCanary {
  caller: Caller;
  settings: CanarySettings;
  /** Filled with what is to be started after the commit. */
  runs: RunInput[];
}

async function createCanary(sql: Sql, pipeline: Pipeline, canary: NewCanary): Promise<Answer> {
  const { caller, settings, runs } = canary;
  const created = await createItem(sql, pipeline, {
    owner: caller.sub,
    actor: actorOf(caller),
    trigger: 'submitted',
    row: canaryRow(settings),
  });
  if (!created.created) throw new Error('a canary has no dedupe key and yet a duplicate');
  const { id, createdAt, run } = created;
  if (run) runs.push(run);
  const body = { id, state: pipeline.start, createdAt: createdAt.toISOString(), statusUrl: `/api/v1/items/${id}` };
  return { status: 202, body };
}
