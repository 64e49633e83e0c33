import { setTimeout as delay } from 'node:timers/promises';
import type { canary } from '../table.js';
import type { Sql, Statement } from '../../../ports/sql.js';
import type { Save, StageContext, Stages } from '../../../ports/stage.js';
import type { CanarySettings, Fault } from '../core/canary-settings.js';
import { AppError } from '../../../core/errors.js';
import { remember } from './remember.js';

/** What a canary may do to its own process when an admin asks for it. */
export interface SelfHarm {
  kill(): void;
  freeze(): void;
}

export interface CanaryDeps {
  find(id: string): Promise<CanarySettings>;
  /** Whether an item has not ended. */
  isLive(id: string): Promise<boolean>;
  self: SelfHarm;
}

/** How often a canary says that it moves. */
const PROGRESS_MS = 250;

/** How often it keeps how far it is, for the attempt that may have to go on from there. */
const KEEP_MS = 1_000;

const STAGE_NAMES = ['first', 'second', 'third'] as const;

/** Three stages and a fan-out that take as long as asked, leave one effect each, and fail when told to. */
export function canaryStages(given: CanaryDeps): Stages<typeof canary> {
  const deps = { ...given, find: remember(given.find) };
  return {
    async first(context) {
      const { settings, save } = await work(deps, 'first', context);
      if (settings.units === 0) return { outcome: 'done', save };
      const units = Array.from({ length: settings.units }, (_, n) => `unit-${String(n + 1)}`);
      return { outcome: 'split', save, units };
    },
    async spread(context) {
      const { save } = await work(deps, 'spread', context);
      return { outcome: 'done', save };
    },
    async second(context) {
      const { settings, save } = await work(deps, 'second', context);
      return { outcome: settings.decision ? 'ask' : 'done', save };
    },
    async third(context) {
      const { save } = await work(deps, 'third', context);
      return { outcome: 'done', save };
    },
  };
}

async function work(deps: CanaryDeps, stage: Fault['stage'], context: StageContext) {
  const settings = await deps.find(context.item.id);
  const fault = settings.faults.find((each) => isMeant(each, stage, context));
  await act(deps, fault, context);
  // A fan-out's units take as long as the stage before them.
  const at = STAGE_NAMES.findIndex((name) => name === stage);
  const ms = settings.stageMs[Math.max(0, at)] ?? 0;
  await waitFor(ms, context);
  const effect = effectOf(stage, context);
  const save: Save = fault?.kind === 'freezeInCommit' ? frozenSave(effect, deps.self) : effect;
  return { settings, save };
}

function isMeant(fault: Fault, stage: string, context: StageContext): boolean {
  if (fault.stage !== stage || ('attempt' in fault && fault.attempt !== context.attempt)) return false;
  return fault.unit === undefined || fault.unit === context.unit;
}

async function act({ self, isLive }: CanaryDeps, fault: Fault | undefined, context: StageContext): Promise<void> {
  switch (fault?.kind) {
    case 'fail':
      throw new Error(`asked to fail on attempt ${String(context.attempt)}`);
    case 'hang':
      return new Promise(() => undefined);
    case 'kill':
      self.kill();
      return new Promise(() => undefined);
    case 'freeze':
      self.freeze();
      return;
    case 'failWhile':
      if (!(await isLive(fault.item))) return;
      throw new AppError('internal', `asked to fail while ${fault.item} lives`, { errorClass: fault.class });
    case 'freezeInCommit':
    case undefined:
      return;
  }
}

/** Goes on from where an earlier attempt left off, as far as that was kept. */
async function waitFor(ms: number, context: StageContext): Promise<void> {
  let keptMs = keptBefore(context);
  const until = performance.now() + ms - keptMs;
  for (let left = ms - keptMs; left > 0; left = until - performance.now()) {
    const doneMs = Math.round(ms - left);
    context.progress({ doneMs, ofMs: ms });
    if (doneMs - keptMs >= KEEP_MS) {
      keptMs = doneMs;
      keep(context, doneMs);
    }
    await delay(Math.min(left, PROGRESS_MS), undefined, { signal: context.signal });
  }
}

function keptBefore({ checkpoint }: StageContext): number {
  const isKept = checkpoint !== null && typeof checkpoint === 'object' && 'doneMs' in checkpoint;
  return isKept ? Number(checkpoint.doneMs) : 0;
}

/** Not waited for: a database that is slow or away costs the next attempt some of its time, and this one nothing. One that is no
 *  longer ours to keep is aborted by its signal. */
function keep(context: StageContext, doneMs: number): void {
  context.keep({ doneMs }).catch(() => undefined);
}

function effectOf(stage: string, { item, unit, attempt }: StageContext): Statement {
  return {
    text: `INSERT INTO canary_effects (item_id, visit, stage, unit, attempt)
      SELECT $1::uuid, $2::int, $3::text, $4::text, $5::int FROM guard`,
    values: [item.id, item.visit, stage, unit, attempt],
  };
}

/** Freezes the process after the effect is written and before the transaction commits. */
function frozenSave(effect: Statement, self: SelfHarm): Save {
  return async (transaction: Sql) => {
    await transaction.query(`WITH guard AS (SELECT 1) ${effect.text}`, effect.values);
    self.freeze();
  };
}
