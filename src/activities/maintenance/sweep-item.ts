import type pg from 'pg';
import type { Logger } from 'pino';
import { type Facts, isHeld, lastSignOf, type Reason } from '../../core/diagnosis.js';
import { isAppError } from '../../core/errors.js';
import type { Pipeline } from '../../core/pipeline.js';
import { rescueDecision, type RescueDecision } from '../../core/rescue.js';
import { engineFactsOf } from '../../core/run-look.js';
import { rescueItem } from '../../db/spine/control.js';
import { exhaustItem, parkItem } from '../../db/recovery/give-up.js';
import { recordLostStart } from '../../db/recovery/lost-start.js';
import { raiseEvent } from '../../db/recovery/outbox.js';
import type { StuckRow } from '../../db/recovery/stuck.js';
import { SYSTEM } from '../../db/spine/transition.js';
import type { Engine } from '../../ports/engine.js';

interface ItemDeps {
  pool: pg.Pool;
  engine: Engine;
  logger: Logger;
}

export interface Swept {
  did: 'left' | 'reported' | 'started' | 'rescued' | 'failed' | 'parked';
  reason: Reason;
  /** False: the item is silent on purpose, or a worker is at work on it. */
  isStuck: boolean;
  silentMs: number;
  /** The failure of a wedged run. */
  wedgedBy: string | null;
}

export interface SweepContext {
  queue: Pick<Facts, 'pollers' | 'backlog'>;
  /** Resolves when the next rescue may begin. */
  awaitTurn: () => Promise<void>;
}

/** Reasons of a silence that needs no rescue: the item is held, is tried again at a known time, or its worker has just
 *  been heard of. */
const NOT_STUCK: readonly Reason[] = ['paused', 'breaker_open', 'not_due', 'retrying', 'suspect_wait', 'running'];

/** Asks Temporal about one item, decides, and carries the decision out. The write compares the row with the row that
 *  was seen. */
export async function sweepItem(
  deps: ItemDeps,
  pipeline: Pipeline,
  row: StuckRow,
  context: SweepContext,
): Promise<Swept> {
  const run = { pipeline: pipeline.name, itemId: row.id, epoch: row.epoch };
  // An item that is held with its pipeline is left alone, so Temporal need not be asked.
  const look = isHeld(row.facts) ? ({ is: 'unknown' } as const) : await deps.engine.describe(run);
  const facts: Facts = { ...row.facts, ...context.queue, ...engineFactsOf(look), pipeline };
  const decision = rescueDecision(facts);
  if (decision.do === 'restart' && !decision.isFree) await context.awaitTurn();
  const did = await actUnlessMoved(() => carryOut(deps, pipeline, row, decision));
  const { reason, sentence } = decision.diagnosis;
  // Items that are only reported are counted and shown, but not logged: thousands of waiting items must not become
  // thousands of lines.
  if (did !== 'left' && did !== 'reported')
    deps.logger.warn({ item: row.id, pipeline: pipeline.name, reason, sentence }, `item ${did}`);
  const silentMs = facts.now.getTime() - lastSignOf(facts).getTime();
  return { did, reason, isStuck: !NOT_STUCK.includes(reason), silentMs, wedgedBy: facts.wedgedBy ?? null };
}

async function carryOut(
  deps: ItemDeps,
  pipeline: Pipeline,
  row: StuckRow,
  decision: RescueDecision,
): Promise<Swept['did']> {
  const { pool, engine } = deps;
  const { reason, sentence } = decision.diagnosis;
  const cause = { reason, sentence, seenAt: row.facts.now };
  const request = { itemId: row.id, actor: SYSTEM, seen: row.epoch, seenVersion: row.version, cause };
  const find = (): Pipeline => pipeline;
  switch (decision.do) {
    case 'leave':
      if (reason === 'wedged') await raiseWedged(pool, row, sentence);
      return decision.reports ? 'reported' : 'left';
    case 'start':
      await engine.start(await recordLostStart(pool, pipeline, request));
      return 'started';
    case 'restart':
      await rescueItem(pool, find, { ...request, isFree: decision.isFree });
      return 'rescued';
    case 'park':
      await parkItem(pool, find, { ...request, why: `silent for longer than ${pipeline.rescue.oldestRescued}` });
      return 'parked';
    case 'fail':
      await exhaustItem(pool, find, request);
      return 'failed';
  }
}

/** The event is raised once for each run, because the same run fails again and again. */
async function raiseWedged(pool: pg.Pool, { id, epoch, facts }: StuckRow, sentence: string): Promise<void> {
  const { pipeline, state } = facts.item;
  await raiseEvent(pool, {
    id: `item_wedged:${id}:${String(epoch)}`,
    kind: 'item_wedged',
    ...{ pipeline, itemId: id, sentence, payload: { state } },
  });
}

/** Leaves the item alone if a caller has moved it meanwhile or writes it at this moment. The item lives then, and the
 *  next sweep looks again. */
async function actUnlessMoved(act: () => Promise<Swept['did']>): Promise<Swept['did']> {
  try {
    return await act();
  } catch (error) {
    if (isAppError(error) && (error.code === 'state_conflict' || error.code === 'still_alive')) return 'left';
    throw error;
  }
}
