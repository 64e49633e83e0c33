import type pg from 'pg';
import { expect } from 'vitest';
import { holdItem } from './barrier.js';
import { attemptsOf, auditOf, effectsOf, itemOf, tasksOf, trailFaults } from './facts.js';
import type { Spine } from './spine.js';

/** What somebody may do to an item in a given situation, and how it was answered in a word. */
export type Act<Situation> = (pool: pg.Pool, situation: Situation) => Promise<string>;

export interface Race {
  answers: string[];
  left: Awaited<ReturnType<typeof leftOf>>;
}

type Make<Situation> = () => Promise<Situation>;
type Pair<Situation> = readonly [Act<Situation>, Act<Situation>];

/** Two acts that wait for the same item, in this order, and what is left of it. */
export async function raced<S extends { id: string }>(spine: Spine, make: Make<S>, acts: Pair<S>): Promise<Race> {
  const situation = await make();
  const barrier = await holdItem(spine, situation.id);
  const one = await barrier.start((pool) => acts[0](pool, situation));
  const two = await barrier.start((pool) => acts[1](pool, situation));
  await barrier.release();
  const answers = [await one.result, await two.result];
  expect(await trailFaults(spine.pool, situation.id)).toEqual([]);
  return { answers, left: await leftOf(spine, situation.id) };
}

/** The same two, one after the other: what a race must look like. */
async function inTurn<S extends { id: string }>(spine: Spine, make: Make<S>, acts: Pair<S>): Promise<Race> {
  const situation = await make();
  const answers = [await acts[0](spine.pool, situation), await acts[1](spine.pool, situation)];
  return { answers, left: await leftOf(spine, situation.id) };
}

export function pairsOf<S>(acts: Record<string, Act<S>>): [string, string, Pair<S>][] {
  const all = Object.entries(acts);
  return all.flatMap(([first, one]) =>
    all.map(([second, two]): [string, string, Pair<S>] => [first, second, [one, two]]),
  );
}

/** A race came out as if one had come after the other: in the order forced upon them, or, where that can't be, in any. */
export async function expectInTurn<S extends { id: string }>(
  spine: Spine,
  make: Make<S>,
  acts: Pair<S>,
  { inAnyOrder } = { inAnyOrder: false },
): Promise<void> {
  const race = await raced(spine, make, acts);
  const inOrder = await inTurn(spine, make, acts);
  if (!inAnyOrder) {
    expect(race).toEqual(inOrder);
    return;
  }
  const { answers, left } = await inTurn(spine, make, [acts[1], acts[0]]);
  expect([inOrder, { answers: answers.toReversed(), left }]).toContainEqual(race);
}

async function leftOf(spine: Spine, id: string) {
  const { state, visit, epoch, version, started, rescues, endReason } = await itemOf(spine.pool, id);
  return {
    item: { state, visit, epoch, version, started, rescues, endReason },
    tasks: await tasksOf(spine.pool, id),
    attempts: (await attemptsOf(spine.pool, id)).toSorted(),
    effects: (await effectsOf(spine.pool, id)).toSorted(),
    trail: await auditOf(spine.pool, id),
  };
}
