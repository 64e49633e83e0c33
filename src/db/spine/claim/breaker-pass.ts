import { type BreakerSettings, holdMs, passDecision } from '../../../core/breaker.js';
import type { Pipeline } from '../../../core/pipeline.js';
import type { Sql } from '../../../ports/sql.js';
import { type BreakerRow, countWaiting, findHolding, lockBreaker, writeBreaker } from '../../recovery/breaker.js';
import type { Attempt, Pass } from '../attempt.js';
import type { Held } from '../held.js';
import { breakerName } from '../hold.js';

export type Passage = { is: 'hold'; held: Held } | { is: 'pass'; passes: Pass[] };

/** Asks the breakers that hold this stage for a place. Claims look at the breakers before they lock them, because most claims find no
 *  free place and must not queue for that answer. */
export async function passBreakers(transaction: Sql, pipeline: Pipeline, { stage }: Attempt): Promise<Passage> {
  const { breaker: settings } = pipeline;
  const seen = settings ? await findHolding(transaction, pipeline.name, stage) : [];
  if (!settings || seen.length === 0) return { is: 'pass', passes: [] };
  const early = holdOf(seen, settings);
  if (early) return { is: 'hold', held: early };
  const locked: BreakerRow[] = [];
  // All claims lock in one order, or two of them would wait for each other.
  for (const { class: errorClass } of seen.toSorted((a, b) => (a.class < b.class ? -1 : 1))) {
    const breaker = await lockBreaker(transaction, pipeline.name, errorClass);
    if (breaker) locked.push(breaker);
  }
  const held = holdOf(locked, settings);
  if (held) return { is: 'hold', held };
  const passes: Pass[] = [];
  for (const each of locked) {
    const decision = passDecision(each, settings, Math.random());
    if (decision.is === 'hold') return { is: 'hold', held: heldBy(each, decision.forMs) };
    // Counted only at a probe, which is rare, and after which many items may be released.
    const waiting = each.state === 'open' ? await countWaiting(transaction, pipeline, each.stages) : null;
    await writeBreaker(transaction, each, decision.change, waiting);
    passes.push({ class: each.class, round: each.round });
  }
  return { is: 'pass', passes };
}

/** The breaker that holds the stage longest, where none of them lets an item through now. */
export async function findBreakerHold(sql: Sql, pipeline: Pipeline, stage: string): Promise<Held | null> {
  const { breaker: settings } = pipeline;
  return settings ? holdOf(await findHolding(sql, pipeline.name, stage), settings) : null;
}

function holdOf(breakers: readonly BreakerRow[], settings: BreakerSettings): Held | null {
  if (breakers.every((each) => each.dueInMs <= 0)) return null;
  const random = Math.random();
  const [longest] = breakers
    .map((each) => heldBy(each, holdMs(each, settings, random)))
    .sort((a, b) => b.forMs - a.forMs);
  return longest ?? null;
}

function heldBy(breaker: BreakerRow, forMs: number): Held {
  return { reason: 'breaker_open', forMs, hold: breakerName(breaker.class) };
}
