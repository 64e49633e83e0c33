import { z } from 'zod';
import { callerOf } from '../../../api/http/access.js';
import type { Caller } from '../../../api/http/auth.js';
import { hasRole, maySee, noSuchItem } from '../../../api/http/permissions.js';
import { problems } from '../../../api/http/problem.js';
import { textUpTo } from '../../../api/http/text-up-to.js';
import { addIntakeRoute } from '../../../api/items/add-intake-route.js';
import { ItemParams } from '../../../api/items/item-schema.js';
import type { ApiDeps, App } from '../../../api/parts.js';
import { ERROR_CLASSES } from '../../../core/error-class.js';
import { AppError } from '../../../core/errors.js';
import { FAULT_KINDS, FAULT_STAGES } from '../core/canary-settings.js';
import { canaryRow, findCanary } from '../db/canaries.js';

const TAG = 'canaries';

/** At most ten minutes, because the table gives a stage eleven. */
const StageMs = z.int().min(0).max(600_000);

const FaultOfStage = z.strictObject({
  stage: z.enum(FAULT_STAGES),
  unit: textUpTo(100).optional().describe('Of a fan-out: only this unit'),
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
  faults: z.array(Fault).max(20).optional().describe('Faults that happen on purpose; for admins'),
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

export function addCanaryRoutes(app: App, deps: Deps): void {
  addIntakeRoute(app, deps, {
    pipeline: 'canary',
    path: '/api/v1/canaries',
    tag: TAG,
    summary: 'Submit a canary: an item that proves an installation',
    body: CanaryBody,
    row({ stageMs = [0, 0, 0], units = 0, decision = false, faults = [] }, caller) {
      assertMayAskFor(caller, faults);
      return canaryRow({ stageMs, units, decision, faults });
    },
  });

  app.get(
    '/api/v1/canaries/:id',
    {
      schema: {
        tags: [TAG],
        summary: 'What a canary was asked to do, and the effects it left',
        params: ItemParams,
        response: { 200: CanaryAnswer, ...problems(404) },
      },
    },
    async (request) => {
      const canary = await findCanary(deps.prisma, request.params.id);
      if (!canary || !maySee(callerOf(request), canary)) throw noSuchItem(request.params.id);
      return { ...canary, effects: canary.effects.map((each) => ({ ...each, at: each.at.toISOString() })) };
    },
  );
}

/** Only an admin may, because faults kill and freeze workers that other callers use too. */
function assertMayAskFor(caller: Caller, faults: readonly unknown[]): void {
  if (faults.length === 0 || hasRole(caller, 'admin')) return;
  throw new AppError('not_allowed', 'only an admin may ask for faults', {
    errors: [{ path: 'faults', message: 'needs the role admin' }],
  });
}
