import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ItemFilter } from '../../../src/db/reads/item-filter.js';
import { scanItems } from '../../../src/db/reads/item-list.js';
import { createTestDatabase, type TestDatabase } from '../../support/postgres.js';

const ENDED = 60_000;
const EXAMINE = 500;

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  // One item in a thousand failed. Two hundred live items are older than all others. A sweep found seven of them wedged, and two of
  // these have moved since. Ended items keep the reason of their last sweep.
  await database.pool.query(
    `INSERT INTO items (id, pipeline, owner, state, ended_at, error_class, error_message, created_at, reason, reason_at)
     SELECT (lpad(to_hex(n + 1000), 12, '0') || '-7000-8000-' || '000000000000')::uuid, 'canary', 'owner-' || n % 100,
       CASE WHEN n % 1000 = 0 THEN 'FAILED' ELSE 'DONE' END, now(), CASE WHEN n % 1000 = 0 THEN 'LLM_ERROR' END,
       CASE WHEN n % 1000 = 0 THEN 'no answer from 10% of them' END, now() - interval '1 day', 'wedged', now()
     FROM generate_series(1, ${String(ENDED)}) n`,
  );
  await database.pool.query(
    `INSERT INTO items (id, pipeline, owner, state, started, reason, reason_at)
     SELECT (lpad(to_hex(n), 12, '0') || '-7000-8000-000000000000')::uuid, 'canary', 'owner-1', 'FIRST', true,
       CASE WHEN n <= 7 THEN 'wedged' WHEN n <= 100 THEN 'backlog' END, now() - CASE WHEN n <= 2 THEN interval '1 hour' ELSE '0' END
     FROM generate_series(1, 200) n`,
  );
  await database.pool.query('ANALYZE items');
});
afterAll(() => database.drop());

interface Plan {
  'Node Type': string;
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  Plans?: Plan[];
}

/** Runs the statement and counts the rows of `items` that it touched. */
async function touchedBy(filter: ItemFilter, before: string | null = null): Promise<{ rows: number; scans: string[] }> {
  const found = { rows: 0, scans: [] as string[] };
  function visit(plan: Plan): void {
    if (plan['Relation Name'] === 'items') {
      found.rows += (plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)) * plan['Actual Loops'];
      found.scans.push(plan['Node Type']);
    }
    plan.Plans?.forEach(visit);
  }
  const explaining = {
    async query(text: string, values: unknown[]) {
      const { rows } = await database.pool.query<{ 'QUERY PLAN': { Plan: Plan }[] }>(
        `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`,
        values,
      );
      visit(rows[0]?.['QUERY PLAN'][0]?.Plan ?? ({} as Plan));
      return database.pool.query(text, values);
    },
  } as unknown as pg.Pool;
  await scanItems(explaining, filter, { before, examine: EXAMINE, take: 51 });
  return found;
}

const scan = (filter: ItemFilter, examine = EXAMINE) =>
  scanItems(database.pool, filter, { before: null, examine, take: 51 });

describe('a list among many finished items', () => {
  it.each<[string, ItemFilter]>([
    ['everything', {}],
    ['a pipeline', { pipeline: 'canary' }],
    ['a pipeline nobody uses', { pipeline: 'other' }],
    ['a rare state', { pipeline: 'canary', state: 'FAILED' }],
    ['a rare state of any pipeline', { state: 'FAILED', pipelines: ['canary', 'other'] }],
    ['a live state', { pipeline: 'canary', state: 'FIRST' }],
    ['live ones', { live: true }],
    ['a rare reason', { live: true, swept: 'wedged', pipelines: ['canary', 'other'] }],
    ['a reason in a pipeline', { live: true, swept: 'wedged', pipeline: 'canary' }],
    ['an owner', { owner: 'owner-7' }],
    ['a class of error', { error: 'LLM_ERROR' }],
    ['the beginning of an id', { q: '00000000' }],
    ['words that nothing has', { q: 'unheard of' }],
    ['age', { ageMs: 3_600_000 }],
  ])('reads no more rows than its limit for %s', async (_, filter) => {
    const { rows, scans } = await touchedBy(filter);
    expect(scans).not.toContain('Seq Scan');
    // Each half of a pipeline may be examined in full, and the shown rows once more.
    expect(rows).toBeLessThanOrEqual(2 * EXAMINE + 51);
  });

  it('finds rare items at once', async () => {
    const failed = await scan({ pipeline: 'canary', state: 'FAILED' });
    expect(failed).toMatchObject({ fitting: ENDED / 1_000, examined: ENDED / 1_000 });
    expect(await scan({ error: 'LLM_ERROR' })).toMatchObject({ fitting: ENDED / 1_000 });
    expect(await scan({ live: true })).toMatchObject({ fitting: 200, examined: 200 });
    expect(await scan({ live: true, swept: 'wedged', pipelines: ['canary'] })).toMatchObject({
      fitting: 5,
      examined: 7,
    });
  });

  it('says how many rows it examined when it may examine no more', async () => {
    const { items, examined, fitting, lastId } = await scan({ q: 'unheard of' });
    expect({ items, examined, fitting }).toEqual({ items: [], examined: EXAMINE, fitting: 0 });
    expect(lastId).not.toBeNull();
  });

  it.each<[string, ItemFilter, number]>([
    ['an error message, its signs taken as they are', { error: 'LLM_ERROR', q: '10% of' }, 60],
    ['nothing that a sign would stand for', { error: 'LLM_ERROR', q: '1_% of' }, 0],
    ['the beginning of an id', { q: '00000000-0001-7' }, 1],
    ['nothing that is younger than asked for', { live: true, ageMs: 3_600_000 }, 0],
    ['what is old enough', { error: 'LLM_ERROR', ageMs: 3_600_000 }, 60],
    ['nothing where all is too young', { error: 'LLM_ERROR', ageMs: 172_800_000 }, 0],
    ['two filters at once', { owner: 'owner-1', state: 'FIRST' }, 200],
  ])('finds by %s', async (_, filter, count) => {
    expect((await scan(filter, 2_000)).fitting).toBe(count);
  });
});
