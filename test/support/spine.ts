import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { afterAll, beforeAll } from 'vitest';
import { claimedState, rowOf, stagesIn } from '../../src/core/machine.js';
import type { Pipeline } from '../../src/core/pipeline.js';
import type { Step } from '../../src/core/step.js';
import type { Attempt, Claimed, Ending } from '../../src/db/spine/attempt.js';
import { type Claim, claimTask } from '../../src/db/spine/claim/claim.js';
import { createPool, inTransaction } from '../../src/db/postgres/client.js';
import { commitAttempt, type Committed } from '../../src/db/spine/commit.js';
import type { Changed, FindPipeline } from '../../src/db/spine/control.js';
import { createItem, type NewItem } from '../../src/db/spine/items.js';
import { nextStep } from '../../src/db/spine/next-step.js';
import { blameTask, type OwnDeath } from '../../src/db/spine/own-death.js';
import type { Actor, ItemError } from '../../src/db/spine/transition.js';
import type { Statement } from '../../src/ports/sql.js';
import { endWaiters } from './barrier.js';
import { itemOf } from './facts.js';
import { createTestDatabase, type TestDatabase } from './postgres.js';

/** Set-up for tests of src/db: a database, and items of a table walked by hand. What it says of them afterwards is in
 *  facts.ts. */
export interface Spine extends TestDatabase {
  /** With the product's own limits on locks and idle transactions; `pool` has none, so that a slow machine may wait. */
  limited: pg.Pool;
  close(): Promise<void>;
}

export const ADA: Actor = { id: 'ada', type: 'user' };
export const ROOT: Actor = { id: 'root', type: 'admin' };

export async function openSpine(): Promise<Spine> {
  const database = await createTestDatabase();
  const limited = createPool({ url: database.url, size: 30, name: 'limited' });
  async function close(): Promise<void> {
    await endWaiters(database);
    await limited.end();
    await database.drop();
  }
  return { ...database, limited, close };
}

/** The spine of a test file, there while its tests run. */
export function useSpine(): Spine {
  const spine = {} as Spine;
  beforeAll(async () => {
    Object.assign(spine, await openSpine());
  });
  afterAll(() => spine.close());
  return spine;
}

/** Every table a test works with; the control functions look theirs up by name. */
export function findIn(...pipelines: readonly Pipeline[]): FindPipeline {
  return (name) => {
    const found = pipelines.find((each) => each.name === name);
    if (!found) throw new RangeError(`this test has no table '${name}'`);
    return found;
  };
}

export interface Where {
  state?: string;
  stage?: string;
  unit?: string;
  worker?: string;
  visit?: number;
  epoch?: number;
  claimId?: string;
  scheduledAt?: Date;
  isRetried?: boolean;
  /** Places for isolated stages of the worker. */
  places?: number;
  /** As a local activity. */
  isLocal?: boolean;
}

export const KILLED: OwnDeath = { isSilent: false, how: 'was ended by SIGKILL' };

export const FAILURE: ItemError = { class: 'NETWORK_ERROR', message: 'the other side hung up', stage: 'any' };

/** What the stage of a test leaves. The table has no unique key: an effect that came twice is seen. */
export function effectOf(attempt: Claimed): Statement {
  return {
    text: `INSERT INTO canary_effects (item_id, visit, stage, unit, attempt)
           SELECT guard.item_id, guard.visit, guard.stage, guard.unit, $1::int FROM guard`,
    values: [attempt.fence],
  };
}

export function doneWith(attempt: Claimed, outcome = 'done', units?: readonly string[]): Ending {
  return { is: 'done', outcome, save: effectOf(attempt), ...(units && { units }) };
}

export type ByHand = ReturnType<typeof byHand>;

/** Items of one table, made and walked by hand. */
export function byHand(pool: pg.Pool, pipeline: Pipeline) {
  async function make(item: Partial<NewItem> = {}): Promise<string> {
    const created = await inTransaction(pool, (transaction) =>
      createItem(transaction, pipeline, { owner: 'ada', actor: ADA, trigger: 'submitted', ...item }),
    );
    return created.id;
  }

  /** At the first stage of the state the item is in, or is claimed into, where `where` says nothing else. */
  async function attempt(itemId: string, where: Where = {}): Promise<Attempt> {
    const item = await itemOf(pool, itemId);
    const state = where.state ?? claimedState(rowOf(pipeline, item.state)) ?? item.state;
    return {
      itemId,
      visit: where.visit ?? item.visit,
      epoch: where.epoch ?? item.epoch,
      state,
      stage: where.stage ?? stagesIn(rowOf(pipeline, state))[0]?.stage ?? 'none',
      unit: where.unit ?? '',
      claimId: where.claimId ?? randomUUID(),
      token: where.isLocal ? null : Buffer.from('token'),
      scheduledAt: where.scheduledAt ?? null,
      isRetried: where.isRetried ?? false,
      worker: where.worker ?? 'worker-a',
      places: where.places ?? 4,
    };
  }

  async function claim(itemId: string, where: Where = {}): Promise<Claim> {
    return claimTask(pool, pipeline, await attempt(itemId, where));
  }

  /** A claim that must be answered `run`. */
  async function claimed(itemId: string, where: Where = {}): Promise<Claimed> {
    const answer = await claim(itemId, where);
    if (answer.is !== 'run') throw new Error(`the claim was answered ${JSON.stringify(answer)}`);
    return answer.claimed;
  }

  function commit(attempted: Claimed, ending: Ending): Promise<Committed> {
    return commitAttempt(pool, pipeline, attempted, ending);
  }

  function finish(attempted: Claimed, outcome = 'done', units?: readonly string[]): Promise<Committed> {
    return commit(attempted, doneWith(attempted, outcome, units));
  }

  /** Claims and finishes the stages named, each with `done` or the outcome after the colon: `walk(id, 'check:good')`. */
  async function walk(itemId: string, ...stages: string[]): Promise<void> {
    for (const each of stages) {
      const [stage = '', outcome = 'done'] = each.split(':');
      const committed = await finish(await claimed(itemId, { stage }), outcome);
      if (committed === 'superseded') throw new Error(`${each} was refused`);
    }
  }

  /** The process that ran the claimed task alone dies. */
  function die(attempted: Claimed, death: OwnDeath = KILLED): ReturnType<typeof blameTask> {
    return blameTask(pool, pipeline, attempted, death);
  }

  /** Two workers die under the task, which makes it a suspect, and then three processes of its own. */
  async function poison(itemId: string, where: Where = {}): Promise<void> {
    for (const n of [1, 2]) await claimed(itemId, { ...where, worker: `victim-${itemId}-${n}` });
    for (let n = 0; n < 3; n += 1) await die(await claimed(itemId, { ...where, worker: `parent-${itemId}` }));
  }

  /** What the item's run is told when it asks. */
  async function next(itemId: string): Promise<Step> {
    const { epoch } = await itemOf(pool, itemId);
    return nextStep(pool, pipeline, { itemId, epoch });
  }

  return { make, attempt, claim, claimed, commit, finish, walk, die, poison, next };
}

/** The code of the AppError a call was refused with; what it answered otherwise. */
export async function codeOf(call: Promise<Changed>): Promise<string> {
  try {
    return `no error: ${(await call).state}`;
  } catch (error) {
    if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code;
    throw error;
  }
}
