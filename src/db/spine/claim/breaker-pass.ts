import { holdMs, passDecision } from '../../../core/breaker.js';
import type { Pipeline } from '../../../core/pipeline.js';
import type { Sql } from '../../../ports/sql.js';
import { type BreakerRow, countWaiting, findHolding, lockBreaker, writeBreaker } from '../../recovery/breaker.js';
import type { Attempt, Pass } from '../attempt.js';

export type Passage = { is: 'hold'; forMs: number } | { is: 'pass'; passes: Pass[] };

/** Asks the breakers that hold this stage for a place. Claims look at the breakers before they lock them, because most claims find no
 *  free place and must not queue for that answer. */
export async function passBreakers(transaction: Sql, pipeline: Pipeline, { stage }: Attempt): Promise<Passage> {
  const { breaker: settings } = pipeline;
  const seen = settings ? await findHolding(transaction, pipeline.name, stage) : [];
  if (!settings || seen.length === 0) return { is: 'pass', passes: [] };
  if (seen.some((each) => each.dueInMs > 0)) return hold(seen);
  const locked: BreakerRow[] = [];
  // All claims lock in one order, or two of them would wait for each other.
  for (const { class: errorClass } of seen.toSorted((a, b) => (a.class < b.class ? -1 : 1))) {
    const breaker = await lockBreaker(transaction, pipeline.name, errorClass);
    if (breaker) locked.push(breaker);
  }
  if (locked.some((each) => each.dueInMs > 0)) return hold(locked);
  const passes: Pass[] = [];
  for (const each of locked) {
    const decision = passDecision(each, settings, Math.random());
    if (decision.is === 'hold') return decision;
    // Counted only at a probe, which is rare, and after which many items may be released.
    const waiting = each.state === 'open' ? await countWaiting(transaction, pipeline, each.stages) : null;
    await writeBreaker(transaction, each, decision.change, waiting);
    passes.push({ class: each.class, round: each.round });
  }
  return { is: 'pass', passes };

  function hold(breakers: readonly BreakerRow[]): Passage {
    const random = Math.random();
    const waits = breakers.map((each) => (settings ? holdMs(each, settings, random) : 0));
    return { is: 'hold', forMs: Math.max(...waits) };
  }
}
