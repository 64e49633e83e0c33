import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cellOf } from '../../../src/api/operators/receipt-csv.js';
import type { ReceiptAnswer } from '../../../src/api/operators/receipt-answer.js';
import { ADMIN, ALICE, openApi, submit, type TestApi, VIEWER } from '../setup.js';
import { show } from '../walked.js';

let api: TestApi;
let item: string;
beforeAll(async () => {
  api = await openApi();
  item = (await submit(api, ALICE)).id;
});
afterAll(() => api.close());

interface Given {
  itemId?: string;
  reason?: string;
  detectMs?: number;
  restartMs?: number | null;
  sentence?: string;
  seenAt?: string;
  result?: string;
}

async function leave(given: Given = {}): Promise<void> {
  const { itemId = randomUUID(), reason = 'workflow_closed', detectMs = 1_000, restartMs = 500 } = given;
  await api.database.pool.query(
    `INSERT INTO receipts (item_id, pipeline, state, visit, epoch, reason, sentence, last_sign_at, seen_at, acted_at, moving_at,
       stages_again, actor, actor_type, result)
     SELECT $1, 'canary', 'FIRST', 1, 2, $2, $3, seen - $4 * interval '1 millisecond', seen, seen,
       seen + $5 * interval '1 millisecond', ARRAY['first'], 'system', 'system', $7
     FROM (SELECT $6::timestamptz AS seen) times`,
    [
      ...[itemId, reason, given.sentence ?? 'Its run ended.', detectMs, restartMs],
      ...[given.seenAt ?? '2030-01-01T00:00:00Z', given.result ?? (restartMs === null ? 'waiting' : 'moving')],
    ],
  );
}

interface Page {
  receipts: ReceiptAnswer[];
  nextCursor: string | null;
}

async function page(query: string): Promise<Page> {
  const response = await api.call({ url: `/api/v1/receipts?${query}`, as: VIEWER });
  expect(response.statusCode).toBe(200);
  return response.json<Page>();
}

async function summary(query = '') {
  const response = await api.call({ url: `/api/v1/receipts/summary?${query}`, as: VIEWER });
  expect(response.statusCode).toBe(200);
  return response.json<{ all: object; byReason: object[] }>();
}

describe('receipts', () => {
  it('show null, not zero, as times when there are no recoveries', async () => {
    const nothing = { median: null, p95: null };
    expect(await summary()).toEqual({
      all: { count: 0, moving: 0, detectMs: nothing, restartMs: nothing },
      byReason: [],
    });
    expect(await page('')).toEqual({ receipts: [], nextCursor: null });
  });

  it('are summed up by reason; what never moved has no time to restart', async () => {
    for (const detectMs of [1_000, 2_000, 3_000])
      await leave({ detectMs, restartMs: 400, seenAt: '2031-01-01T00:00:00Z' });
    await leave({ reason: 'worker_died', detectMs: 250, restartMs: null, seenAt: '2031-01-01T00:00:00Z' });

    const { all, byReason } = await summary('since=2031-01-01T00:00:00Z');

    expect(all).toMatchObject({
      count: 4,
      moving: 3,
      detectMs: { median: 1_500 },
      restartMs: { median: 400, p95: 400 },
    });
    expect(byReason).toEqual([
      {
        ...{ reason: 'workflow_closed', count: 3, moving: 3 },
        detectMs: { median: 2_000, p95: 2_900 },
        restartMs: { median: 400, p95: 400 },
      },
      {
        ...{ reason: 'worker_died', count: 1, moving: 0 },
        detectMs: { median: 250, p95: 250 },
        restartMs: { median: null, p95: null },
      },
    ]);
  });

  it('are listed the newest first, page by page, each once, whatever comes in meanwhile', async () => {
    for (let n = 0; n < 5; n += 1) await leave({ reason: 'wedged', detectMs: n });
    const seen: string[] = [];
    let cursor = '';
    do {
      const { receipts, nextCursor } = await page(`reason=wedged&limit=2${cursor}`);
      expect(receipts.length).toBeLessThanOrEqual(2);
      seen.push(...receipts.map((each) => each.id));
      await leave({ reason: 'wedged' });
      cursor = nextCursor === null ? '' : `&cursor=${nextCursor}`;
    } while (cursor !== '');
    expect(seen).toHaveLength(5);
    expect(seen).toEqual([...new Set(seen)].sort((a, b) => Number(b) - Number(a)));
  });

  it('are filtered by what happened', async () => {
    await leave({ reason: 'no_worker', result: 'exhausted', restartMs: null });
    const { receipts } = await page('pipeline=canary&reason=no_worker&result=exhausted');
    expect(receipts).toMatchObject([
      { reason: 'no_worker', result: 'exhausted', movingAt: null, stagesAgain: ['first'] },
    ]);
    expect((await page('pipeline=other')).receipts).toEqual([]);
  });

  it('belong to their item, where its owner sees them', async () => {
    await leave({ itemId: item, detectMs: 2_000 });
    const { receipts } = await show(api, item, ALICE);
    expect(receipts).toMatchObject([
      { itemId: item, reason: 'workflow_closed', lastSignAt: '2029-12-31T23:59:58.000Z' },
    ]);
  });

  it('are a file too, whose cells no spreadsheet runs', async () => {
    await leave({ reason: 'backlog', sentence: '=HYPERLINK("http://evil","x"), and more' });
    const response = await api.call({ url: '/api/v1/receipts.csv?reason=backlog', as: ADMIN });
    expect(response.statusCode).toBe(200);
    expect(response.headers['content-type']).toBe('text/csv; charset=utf-8');
    expect(response.headers['x-truncated']).toBe('false');
    const lines = response.body.split('\r\n');
    expect(lines).toHaveLength(3);
    expect(lines[0]).toMatch(/^"id","itemId",/);
    expect(lines[1]).toContain(`"'=HYPERLINK(""http://evil"",""x""), and more"`);
  });

  it('are written to the file page by page', async () => {
    await api.database.pool.query(
      `INSERT INTO receipts (item_id, pipeline, state, visit, epoch, reason, sentence, last_sign_at, seen_at, acted_at, stages_again,
         actor, actor_type)
       SELECT gen_random_uuid(), 'many', 'FIRST', 1, 2, 'backlog', 'x', now(), now(), now(), '{}', 'system', 'system'
       FROM generate_series(1, 2500)`,
    );
    const { body } = await api.call({ url: '/api/v1/receipts.csv?pipeline=many', as: VIEWER });
    const ids = body
      .trimEnd()
      .split('\r\n')
      .slice(1)
      .map((line) => line.split(',')[0]);
    expect(ids).toHaveLength(2_500);
    expect(new Set(ids).size).toBe(2_500);
  });

  it.each([
    ['=1+1', `"'=1+1"`],
    ['+1', `"'+1"`],
    ['-1', `"'-1"`],
    ['@SUM(A1)', `"'@SUM(A1)"`],
    ['\t=1', `"'\t=1"`],
    ['plain', '"plain"'],
    ['a "b"', '"a ""b"""'],
    ['', '""'],
  ])('writes the cell %j as %s', (text, cell) => {
    expect(cellOf(text)).toBe(cell);
  });
});
