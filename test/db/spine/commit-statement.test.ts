import type pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Pipeline } from '../../../src/core/pipeline.js';
import { createPool } from '../../../src/db/postgres/client.js';
import type { Claimed, Ending } from '../../../src/db/spine/attempt.js';
import { commitAttempt } from '../../../src/db/spine/commit.js';
import type { Save } from '../../../src/ports/stage.js';
import { byHand, effectOf, FAILURE, useSpine, type Where } from '../../support/spine.js';
import { admitting, several, spreadAll, spreadLast, straight } from '../../support/tables.js';

const spine = useSpine();

const CLAIM_ID = '00000000-0000-4000-8000-000000000001';

/** Tells the owner of an item's end, in a table of this test. */
const telling = {
  ...straight,
  name: 'telling',
  tells: { table: 'concerned_people', column: 'email' },
} satisfies Pipeline;

/** A statement on its way to Postgres. */
interface Sent {
  text: string;
  values: readonly unknown[];
}

/** All statements that the sessions of `pool` have sent, in their order. */
let sent: Sent[] = [];
let pool: pg.Pool;

beforeAll(async () => {
  await spine.pool.query('CREATE TABLE concerned_people (id uuid PRIMARY KEY, email text)');
  pool = createPool({ url: spine.url, size: 1, name: 'recorded' });
  pool.on('connect', (client) => {
    const query = client.query.bind(client) as (...all: unknown[]) => unknown;
    client.query = ((config: string | Sent, ...others: unknown[]) => {
      const values = Array.isArray(others[0]) ? others[0] : [];
      sent.push(typeof config === 'string' ? { text: config, values } : config);
      return query(config, ...others);
    }) as typeof client.query;
  });
});
afterAll(() => pool.end());

interface Case {
  pipeline: Pipeline;
  where?: Where;
  ending(claimed: Claimed): Ending;
}

/** One file each, in the folder commit-statement. */
const CASES: Record<string, Case> = {
  'a stage that moves its item': { pipeline: straight, ending: done },
  'a stage that ends its item and tells the owner': {
    pipeline: telling,
    ending: (claimed) => ({ ...done(claimed), outcome: 'empty' }),
  },
  'a stage that feeds a fan-out': {
    pipeline: spreadLast,
    ending: (claimed) => ({ ...done(claimed), units: ['a', 'b'] }),
  },
  'a unit': { pipeline: spreadAll, where: { stage: 'upload', unit: 'a' }, ending: done },
  'an error that is tried again': {
    pipeline: straight,
    ending: () => ({ is: 'error', error: FAILURE, retryInMs: 500 }),
  },
  'spent tries that end the item': { pipeline: straight, ending: () => ({ is: 'spent', error: FAILURE }) },
  'spent tries that leave the item to the sweep': {
    pipeline: several,
    where: { stage: 'judge' },
    ending: () => ({ is: 'spent', error: FAILURE }),
  },
  'a released attempt': { pipeline: straight, ending: () => ({ is: 'released', why: 'lost_sight' }) },
  'a stage that saves by a function': {
    pipeline: straight,
    ending: (claimed) => ({ ...done(claimed), save: effectByFunction(claimed) }),
  },
  'a stage that enters a state with a limit': { pipeline: admitting, ending: done },
};

it.each(Object.entries(CASES))('sends the whole text of the file for %s', async (name, { pipeline, where, ending }) => {
  const hand = byHand(spine.pool, pipeline);
  const id = await hand.make();
  if (where?.unit) await hand.finish(await hand.claimed(id), 'done', [where.unit]);
  if (where?.stage === 'judge') await hand.walk(id, 'extract', 'enrich');
  const claimed = await hand.claimed(id, { ...where, claimId: CLAIM_ID });
  sent = [];

  expect(await commitAttempt(pool, pipeline, claimed, ending(claimed))).toHaveProperty('do');

  const page = [`-- The commit of ${name}.`, ...sent.map((each) => textOf(each, id))].join('\n\n');
  await expect(`${page}\n`).toMatchFileSnapshot(`commit-statement/${name.replaceAll(' ', '-')}.sql`);
});

function done(claimed: Claimed) {
  return { is: 'done', outcome: 'done', note: { pages: 3 }, save: effectOf(claimed) } as const;
}

function effectByFunction({ itemId, visit, stage, fence }: Claimed): Save {
  return async (transaction) => {
    await transaction.query('INSERT INTO canary_effects (item_id, visit, stage, attempt) VALUES ($1, $2, $3, $4)', [
      itemId,
      visit,
      stage,
      fence,
    ]);
    return { number: 7 };
  };
}

/** The text with its values. Spaces at the end of a line are left out, because editors remove them. */
function textOf({ text, values }: Sent, itemId: string): string {
  const parameters = values.map((value, at) => `-- $${at + 1} = ${literalOf(value)}`);
  return [`${text.trim().replaceAll(/ +$/gm, '')};`, ...parameters].join('\n').replaceAll(itemId, 'the item');
}

function literalOf(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : JSON.stringify(value);
}
