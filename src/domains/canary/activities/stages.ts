import { setTimeout as delay } from 'node:timers/promises';
import type { canary } from '../table.js';
import type { Sql, Statement } from '../../../ports/sql.js';
import type { Save, StageContext, Stages } from '../../../ports/stage.js';
import type { CanarySettings, Fault } from '../core/canary-settings.js';
import { AppError } from '../../../core/errors.js';
import { remember } from './remember.js';

/** The harm that a canary does to its own worker process when an admin asks for it. */
export interface SelfHarm {
  kill(): void;
  freeze(): void;
  /** Never returns, and nothing else runs in the process meanwhile. */
  spin(): never;
  /** Takes ever more memory, and goes on beating. */
  eat(): void;
}

export interface CanaryDeps {
  find(id: string): Promise<CanarySettings>;
  /** Whether the item exists and has not ended. */
  isLive(id: string): Promise<boolean>;
  self: SelfHarm;
}

/** How often a stage reports progress. */
const PROGRESS_MS = 250;

/** How often a stage stores a checkpoint, from which the next attempt goes on. */
const CHECKPOINT_MS = 1_000;

const STAGE_NAMES = ['first', 'second', 'third'] as const;

/** Three stages and a fan-out. Each takes as long as the settings say, leaves one effect, and fails where a fault says
 *  so. */
export function canaryStages(given: CanaryDeps): Stages<typeof canary> {
  const deps = { ...given, find: remember(given.find) };
  return {
    async first(context) {
      const { settings, save } = await work(deps, 'first', context);
      if (settings.units === 0) return { outcome: 'done', save };
      const units = Array.from({ length: settings.units }, (_, n) => `unit-${n + 1}`);
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
  const fault = settings.faults.find((each) => isDue(each, stage, context));
  await actOut(deps, fault, context);
  // A fan-out's units take as long as the stage before them.
  const at = STAGE_NAMES.findIndex((name) => name === stage);
  const ms = settings.stageMs[Math.max(0, at)] ?? 0;
  await waitFor(ms, context);
  const effect = effectOf(stage, context);
  const save: Save = fault?.kind === 'freezeInCommit' ? frozenSave(effect, deps.self) : effect;
  return { settings, save };
}

function isDue(fault: Fault, stage: string, context: StageContext): boolean {
  if (fault.stage !== stage || ('attempt' in fault && fault.attempt !== context.attempt)) return false;
  return fault.unit === undefined || fault.unit === context.unit;
}

async function actOut({ self, isLive }: CanaryDeps, fault: Fault | undefined, context: StageContext): Promise<void> {
  switch (fault?.kind) {
    case 'fail':
      throw new Error(`asked to fail on attempt ${context.attempt}`);
    case 'hang':
      return new Promise(() => undefined);
    case 'kill':
      self.kill();
      return new Promise(() => undefined);
    case 'freeze':
      self.freeze();
      return;
    case 'spin':
      return self.spin();
    case 'eat':
      self.eat();
      return reportUntilAborted(context);
    case 'failWhile':
      if (!(await isLive(fault.item))) return;
      throw new AppError('internal', `asked to fail while ${fault.item} lives`, { errorClass: fault.class });
    case 'freezeInCommit':
    case undefined:
      return;
  }
}

/** Reports progress for ever, so that the stage meets the limit of memory and not the limit for silence. */
async function reportUntilAborted(context: StageContext): Promise<never> {
  for (let turns = 1; ; turns += 1) {
    context.progress({ turns });
    await delay(PROGRESS_MS, undefined, { signal: context.signal });
  }
}

/** Waits from the checkpoint of an earlier attempt on, if there is one. */
async function waitFor(ms: number, context: StageContext): Promise<void> {
  let keptMs = checkpointMsOf(context);
  const until = performance.now() + ms - keptMs;
  for (let left = ms - keptMs; left > 0; left = until - performance.now()) {
    const doneMs = Math.round(ms - left);
    context.progress({ doneMs, ofMs: ms });
    if (doneMs - keptMs >= CHECKPOINT_MS) {
      keptMs = doneMs;
      keep(context, doneMs);
    }
    await delay(Math.min(left, PROGRESS_MS), undefined, { signal: context.signal });
  }
}

function checkpointMsOf({ checkpoint }: StageContext): number {
  const isKept = checkpoint !== null && typeof checkpoint === 'object' && 'doneMs' in checkpoint;
  return isKept ? Number(checkpoint.doneMs) : 0;
}

/** The stage does not wait for the write. If the database is slow or away, the next attempt repeats some work and this
 *  attempt loses nothing. An attempt that has lost its task is aborted by its signal. */
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

/** Writes the effect and freezes the process before the transaction commits. */
function frozenSave(effect: Statement, self: SelfHarm): Save {
  return async (transaction: Sql) => {
    await transaction.query(`WITH guard AS (SELECT 1) ${effect.text}`, effect.values);
    self.freeze();
  };
}
