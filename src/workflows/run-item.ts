import {
  ActivityCancellationType,
  CancellationScope,
  condition,
  ContinueAsNew,
  continueAsNew,
  defineSignal,
  patched,
  proxyActivities,
  proxyLocalActivities,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import { type RunActivities, type RunInput, type OwnRun, STAGE_GRACE_MS, type StageInput } from '../core/run.js';
import type { PriorityKey } from '../core/priority.js';
import type { EndStep, StageStep, Step, UnitsStep, WaitStep } from '../core/step.js';

type StageActivities = Record<string, (input: StageInput) => Promise<Step>>;

/** A wake carries nothing: it only says that the row has changed. */
const wakeSignal = defineSignal('wake');

/** Attempts are unlimited: the database counts errors and crashes. The first interval is short, because after a heartbeat
 *  timeout or a lost connection somebody waits; the longest bounds the load on a database that is away. */
const RETRY = { initialInterval: 200, backoffCoefficient: 2, maximumInterval: 10_000 } as const;

/** Temporal closes the connection of a frozen worker two seconds after the worker's last word (`frontend.keepAliveTime` and
 *  `keepAliveTimeout`, a second each). Until then the worker's open polls take tasks, and each task taken is lost for a whole heartbeat
 *  timeout. The rest is the time that the closing itself takes on a busy machine. */
const POLLS_CLOSED_MS = 2_200;

/** Each hold is an attempt for Temporal, so a suspect that has waited for a place may be at its hundredth when its worker freezes. The
 *  next attempt must come soon all the same. A database that is away is tried by each attempt for two seconds besides. */
const LONGEST_STAGE_RETRY_MS = 2_000;

/** A stage beats four times in a heartbeat timeout, so its last beat may be this much of the timeout older than the worker's last word. */
const BEAT_SHARE = 1 / 4;

/** The first retry of a stage never meets the open polls of the frozen worker whose beats were missed. With heartbeat timeouts of three
 *  seconds or more they are closed by then; the shortest, two seconds, must wait 0.7 s. */
function stageRetry(beatsMs: number) {
  const silentMs = beatsMs * (1 - BEAT_SHARE);
  const initialInterval = Math.max(RETRY.initialInterval, POLLS_CLOSED_MS - silentMs);
  return { ...RETRY, initialInterval, maximumInterval: LONGEST_STAGE_RETRY_MS };
}

/** A cancelled run waits until its stage has stopped and said so. By default (whatever its documentation says) it would close
 *  at once, and the attempt, left unended, would count as a crash. */
const CANCELLATION = ActivityCancellationType.WAIT_CANCELLATION_COMPLETED;

/** After this many units the history is long enough to be left behind. */
const UNITS_PER_RUN = 2_000;

/** Asking the row is one short transaction. A worker that dies during it costs the run no more than this time. */
const ROW_TIMEOUT_MS = 5_000;

const ASKING = { startToCloseTimeout: ROW_TIMEOUT_MS, retry: RETRY };

const { endRun } = proxyActivities<RunActivities>(ASKING);

/** Walks one item: does what each step says until a step says end. It knows no pipeline's table, so a changed table
 *  can't break a run that is on its way. */
export async function runItem(input: RunInput): Promise<EndStep['why']> {
  const { pipeline, itemId, epoch, installation } = input;
  const run: OwnRun = { pipeline, itemId, epoch, ...(installation !== undefined && { installation }) };
  let wakes = 0;
  setHandler(wakeSignal, () => {
    wakes += 1;
  });

  let step = input.step;
  let seen = 0;
  let priorityKey = input.priorityKey;
  let unitsDone = 0;
  const unitsPerRun = input.unitsPerRun ?? UNITS_PER_RUN;
  try {
    for (;;) {
      setCurrentDetails(detailsOf(step));
      if (step.do === 'end') break;
      if (step.do === 'wait') await waitForWake(step, () => wakes > seen);
      if (unitsDone >= unitsPerRun || workflowInfo().continueAsNewSuggested) {
        await continueAsNew<typeof runItem>({ ...input, ...(priorityKey && { priorityKey }), step: { do: 'next' } });
      }
      // Counted before the call, so that a wake which arrives during it is not missed.
      seen = wakes;
      if (step.do === 'units') unitsDone += step.units.length;
      if (step.do === 'stage' || step.do === 'units') priorityKey = step.priorityKey;
      step = await perform(run, step, priorityKey);
    }
  } catch (error) {
    if (error instanceof ContinueAsNew) throw error;
    // Cancelled by hand, or a defect: the row must say that nobody walks it any more.
    await CancellationScope.nonCancellable(() => endRun(run));
    throw error;
  }
  if (step.why === 'left') await CancellationScope.nonCancellable(() => endRun(run));
  return step.why;
}

/** No async function where a promise can be passed on: the SDK notes the stack of every promise that a workflow makes. */
function perform(run: OwnRun, step: Exclude<Step, EndStep>, priorityKey?: PriorityKey): Promise<Step> {
  switch (step.do) {
    case 'stage':
      return runStage(run, step);
    case 'units':
      return runWindow(run, step);
    case 'wait':
    case 'next':
      return askRow(run, priorityKey);
  }
}

/** With the latest level that the run was told, because the run itself keeps the level that it was started with. */
function askRow(run: OwnRun, priorityKey: PriorityKey | undefined): Promise<Step> {
  return proxyActivities<RunActivities>({ ...ASKING, ...priorityOf(priorityKey) }).nextStep(run);
}

/** Without a key, an activity inherits the level of its run. The owner's key is always inherited. */
function priorityOf(priorityKey: PriorityKey | undefined): { priority?: { priorityKey: PriorityKey } } {
  return priorityKey === undefined ? {} : { priority: { priorityKey } };
}

async function waitForWake(step: WaitStep, woken: () => boolean): Promise<void> {
  if (step.forMs === null) await condition(woken);
  else await condition(woken, step.forMs);
}

function runStage(run: OwnRun, step: StageStep): Promise<Step> {
  return step.short ? localActivity(run, step) : activity(run, step, '');
}

function activity(run: OwnRun, step: StageStep | UnitsStep, unit: string): Promise<Step> {
  const stages = proxyActivities<StageActivities>({
    startToCloseTimeout: step.withinMs + STAGE_GRACE_MS,
    heartbeatTimeout: step.beatsMs,
    retry: stageRetry(step.beatsMs),
    cancellationType: CANCELLATION,
    ...priorityOf(step.priorityKey),
    ...(unit !== '' && { summary: unit }),
  });
  return call(stages, run, step, unit);
}

function localActivity(run: OwnRun, step: StageStep): Promise<Step> {
  const stages = proxyLocalActivities<StageActivities>({
    startToCloseTimeout: step.withinMs + STAGE_GRACE_MS,
    retry: RETRY,
    cancellationType: CANCELLATION,
  });
  return call(stages, run, step, '');
}

function call(stages: StageActivities, run: OwnRun, step: StageStep | UnitsStep, unit: string): Promise<Step> {
  const stage = stages[step.stage];
  if (!stage) throw new TypeError(`no activity ${step.stage}`);
  const { pipeline, itemId, epoch, installation } = run;
  const { visit, state, withinMs, beatsMs } = step;
  const input: StageInput = { pipeline, itemId, epoch, visit, state, stage: step.stage, unit, withinMs, beatsMs };
  return stage(installation === undefined ? input : { ...input, installation });
}

/** Runs a window of units, `width` at once. If a unit answers anything but `next` (the item is in another state, or
 *  held), no further unit begins. A failed unit does not stop the others. */
async function runWindow(run: OwnRun, step: UnitsStep): Promise<Step> {
  const waiting = [...step.units];
  let follow: Step = { do: 'next' };
  async function lane(): Promise<void> {
    for (let unit = waiting.shift(); unit !== undefined && follow.do === 'next'; unit = waiting.shift()) {
      const answer = await activity(run, step, unit);
      if (answer.do !== 'next') follow = answer;
    }
  }
  // Waits for every unit, also when one of them was cancelled. If the run closed before its units, they would look like
  // crashes.
  const lanes = await Promise.allSettled(Array.from({ length: Math.min(step.width, waiting.length) }, lane));
  for (const each of lanes) if (each.status === 'rejected') throw each.reason;
  // The unit's hold was answered before its siblings ended, and may be over. The patch may be removed from 2026-12-16 on, in a
  // version that is not installed directly over 0.1.0.
  if (isHold(follow) && patched('ask-after-held-unit')) return { do: 'next' };
  return follow;
}

/** A hold that `nextStep` answers as well. For another wait it would answer the same units again, and the run would never wait. */
function isHold(step: Step): boolean {
  return step.do === 'wait' && (step.reason === 'paused' || step.reason === 'breaker_open');
}

/** Markdown for people who look at the run in the Temporal Web UI. */
function detailsOf(step: Step): string {
  switch (step.do) {
    case 'stage':
      return `**${step.state}**: running \`${step.stage}\``;
    case 'units':
      return `**${step.state}**: running \`${step.stage}\` for ${String(step.units.length)} units, ${String(step.width)} at once`;
    case 'wait':
      return `**${step.state}**: waiting, \`${step.reason}\``;
    case 'next':
      return 'asking the row where the item is';
    case 'end':
      return `ended: ${step.why}`;
  }
}
