import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN, ALICE, BOB, REVIEWER, VIEWER, type Who } from '../../../api/setup.js';
import {
  type Announced,
  announced,
  batchRow,
  bring,
  type FileApi,
  openFileApi,
  registerOne,
  send,
  stateOf,
  TEXT,
} from '../support/api.js';

let api: FileApi;
beforeAll(async () => {
  api = await openFileApi();
});
afterAll(() => api.close());
afterEach(() => {
  api.store.mood = 'well';
});

const NOBODY = '01a1f5cb-0000-7000-8000-000000000000';

function show(id: string, as: Who = ALICE, part = '') {
  return api.call({ url: `/api/v2/files/${id}${part}`, as });
}

async function run(text: string, values: unknown[] = []): Promise<void> {
  await api.database.pool.query(text, values);
}

/** As a worker leaves the file that it has processed. */
async function makeReady(id: string, chunks = 3): Promise<void> {
  await run(`UPDATE items SET state = 'ready', ended_at = now() WHERE id = $1`, [id]);
  await run(`UPDATE files SET format = 'text', chunks = $2 WHERE id = $1`, [id, chunks]);
  await run(`INSERT INTO file_texts VALUES ($1, '[{"kind": "text", "text": "Hello", "page": 1}]', 5, false, true)`, [
    id,
  ]);
  await run(
    `INSERT INTO file_chunks (file_id, seq, owner, text, tokens, words)
     SELECT $1, n, 'alice', 'piece ' || n, 2, to_tsvector('piece') FROM generate_series(1, $2::int) n`,
    [id, chunks],
  );
}

async function makeFailed(id: string, errorClass = 'NETWORK_ERROR'): Promise<void> {
  await run(
    `UPDATE items SET state = 'failed', ended_at = now(), start_after = NULL, rescues = 3, error_class = $2,
       error_message = 'it broke', error_stage = 'extract' WHERE id = $1`,
    [id, errorClass],
  );
}

describe('a file', () => {
  it('says where it is, and what comes next, from its registration on', async () => {
    const one = await registerOne(api, ALICE);
    expect((await show(one.fileId)).json()).toMatchObject({
      state: 'registered',
      name: 'a.txt',
      batchId: one.batchId,
      readiness: { ready: false, text: false, chunks: null },
      timings: { confirmedAt: null, processingMs: null, stages: [] },
      staleness: null,
      diagnosis: { reason: 'awaiting_upload' },
      nextAction: expect.stringContaining('PUT its bytes') as string,
    });
    await send(api, one.uploadUrl);
    expect((await show(one.fileId)).json()).toMatchObject({
      state: 'uploaded',
      nextAction: expect.stringContaining('/confirm') as string,
    });
  });

  it('that is ready has its text and its pieces, page by page', async () => {
    const { fileId } = await bring(api, ALICE);
    expect((await show(fileId, ALICE, '/text')).statusCode).toBe(409);
    await makeReady(fileId);
    expect((await show(fileId)).json()).toMatchObject({
      readiness: { ready: true, text: true, chunks: 3 },
      format: 'text',
      error: null,
    });
    expect((await show(fileId, ALICE, '/text')).json()).toEqual({
      ...{ fileId, chars: 5, recognized: false, truncated: true },
      parts: [{ kind: 'text', text: 'Hello', page: 1 }],
    });
    const first = (await show(fileId, ALICE, '/chunks?limit=2')).json<{
      chunks: { seq: number }[];
      nextCursor: string;
    }>();
    expect(first.chunks.map(({ seq }) => seq)).toEqual([1, 2]);
    const rest = (await show(fileId, ALICE, `/chunks?limit=2&cursor=${first.nextCursor}`)).json<object>();
    expect(rest).toMatchObject({ chunks: [{ seq: 3, text: 'piece 3', model: null }], nextCursor: null });
  });

  it.each([
    ['BAD_INPUT', 'Mend the file'],
    ['SCAN_TIMEOUT', 'Split the file'],
    ['NETWORK_ERROR', '/retry'],
  ])('that failed with %s says what its owner can do', async (errorClass, advice) => {
    const { fileId } = await bring(api, ALICE);
    await makeFailed(fileId, errorClass);
    expect((await show(fileId)).json()).toMatchObject({
      state: 'failed',
      error: { classification: errorClass, message: 'it broke', stage: 'extract' },
      nextAction: expect.stringContaining(advice) as string,
    });
  });
});

describe('the list of files', () => {
  it('has the caller’s own, the newest first, by state and page by page', async () => {
    const owner = { sub: 'lister' };
    const ids: string[] = [];
    for (let n = 0; n < 4; n += 1) ids.unshift((await bring(api, owner)).fileId);
    await makeFailed(ids[1] ?? '');
    const seen: string[] = [];
    let cursor = '';
    do {
      const url = `/api/v2/files?state=queued&limit=2${cursor && `&cursor=${cursor}`}`;
      const page = (await api.call({ url, as: owner })).json<{ files: { id: string }[]; nextCursor: string | null }>();
      seen.push(...page.files.map(({ id }) => id));
      cursor = page.nextCursor ?? '';
    } while (cursor !== '');
    expect(seen).toEqual([ids[0], ids[2], ids[3]]);
    const failed = (await api.call({ url: '/api/v2/files?state=failed', as: owner })).json<object>();
    expect(failed).toMatchObject({ files: [{ id: ids[1], error: 'it broke' }], nextCursor: null });
    expect((await api.call({ url: '/api/v2/files?state=odd', as: owner })).statusCode).toBe(400);
    // An admin's own list has no file of anybody else.
    expect((await api.call({ url: '/api/v2/files', as: ADMIN })).json()).toEqual({ files: [], nextCursor: null });
  });
});

describe('a deletion', () => {
  it('takes the bytes, the row, its text and its work, and leaves the audit', async () => {
    const { fileId, batchId } = await bring(api, ALICE);
    await makeReady(fileId);
    expect((await api.call({ method: 'DELETE', url: `/api/v2/files/${fileId}`, as: ALICE })).statusCode).toBe(204);
    expect([...api.store.kept.keys()].filter((key) => key.includes(fileId))).toEqual([]);
    for (const table of ['items WHERE id', 'files WHERE id', 'file_texts WHERE file_id', 'file_chunks WHERE file_id']) {
      expect((await api.database.pool.query(`SELECT 1 FROM ${table} = $1`, [fileId])).rowCount).toBe(0);
    }
    const audit = await api.database.pool.query(
      'SELECT trigger, actor FROM audit WHERE item_id = $1 ORDER BY id DESC',
      [fileId],
    );
    expect(audit.rows[0]).toEqual({ trigger: 'deleted', actor: 'alice' });
    expect((await show(fileId)).statusCode).toBe(404);
    expect((await api.call({ method: 'DELETE', url: `/api/v2/files/${fileId}`, as: ALICE })).statusCode).toBe(404);
    expect(await batchRow(api, batchId)).toEqual({ status: 'completed', unconfirmed: 0 });
  });

  it('of the last unconfirmed file completes its batch', async () => {
    const one = await registerOne(api, ALICE);
    await api.call({ method: 'DELETE', url: `/api/v2/files/${one.fileId}`, as: ALICE });
    expect(await batchRow(api, one.batchId)).toEqual({ status: 'completed', unconfirmed: 0 });
  });

  it('while the store is away is answered 202: the work ends, nobody is mailed, and the clean-up has the rest', async () => {
    const { fileId } = await bring(api, { ...ALICE, email: 'alice@example.com' });
    api.store.mood = 'away';
    const answer = await api.call({ method: 'DELETE', url: `/api/v2/files/${fileId}`, as: ALICE });
    expect(answer.statusCode).toBe(202);
    expect(await stateOf(api, fileId)).toBe('failed');
    expect(api.engine.woken.some(({ itemId }) => itemId === fileId)).toBe(true);
    expect((await show(fileId)).statusCode).toBe(404);
    expect((await api.database.pool.query('SELECT 1 FROM outbox WHERE item_id = $1', [fileId])).rowCount).toBe(0);
    expect(
      (await api.database.pool.query('SELECT 1 FROM files WHERE id = $1 AND deleting_at IS NOT NULL', [fileId]))
        .rowCount,
    ).toBe(1);
  });
});

describe('a retry', () => {
  it('begins the work of a failed file anew, with a new budget and no warning', async () => {
    const { fileId } = await bring(api, ALICE);
    await makeFailed(fileId);
    await run('UPDATE files SET warned_at = now() WHERE id = $1', [fileId]);
    const before = api.engine.started.length;
    const answer = await api.call({ method: 'POST', url: `/api/v2/files/${fileId}/retry`, as: ALICE });
    expect(answer.statusCode).toBe(200);
    expect(answer.json()).toMatchObject({ state: 'queued', visit: 2, rescue: { count: 0 }, error: null });
    expect(api.engine.started.slice(before).map(({ itemId }) => itemId)).toEqual([fileId]);
    const { rows } = await api.database.pool.query('SELECT warned_at FROM files WHERE id = $1', [fileId]);
    expect(rows).toEqual([{ warned_at: null }]);
  });

  it('is refused for a file that has not failed', async () => {
    const { fileId } = await bring(api, ALICE);
    const url = `/api/v2/files/${fileId}/retry`;
    expect((await api.call({ method: 'POST', url, as: ALICE })).statusCode).toBe(409);
    await makeReady(fileId);
    expect((await api.call({ method: 'POST', url, as: ALICE })).statusCode).toBe(409);
  });

  it('is refused for a file whose bytes never came', async () => {
    const one = await registerOne(api, ALICE);
    await makeFailed(one.fileId);
    const answer = await api.call({ method: 'POST', url: `/api/v2/files/${one.fileId}/retry`, as: ALICE });
    expect(answer.json()).toMatchObject({ status: 409, code: 'upload_missing' });
  });
});

describe('somebody else', () => {
  const calls: [string, (ids: Ids) => { method?: 'GET' | 'POST' | 'DELETE'; url: string }][] = [
    ['GET a file', ({ fileId }) => ({ url: `/api/v2/files/${fileId}` })],
    ['GET its text', ({ fileId }) => ({ url: `/api/v2/files/${fileId}/text` })],
    ['GET its chunks', ({ fileId }) => ({ url: `/api/v2/files/${fileId}/chunks` })],
    ['GET its events', ({ fileId }) => ({ url: `/api/v2/files/${fileId}/events` })],
    ['DELETE it', ({ fileId }) => ({ method: 'DELETE', url: `/api/v2/files/${fileId}` })],
    ['POST a retry', ({ fileId }) => ({ method: 'POST', url: `/api/v2/files/${fileId}/retry` })],
    ['GET its batch', ({ batchId }) => ({ url: `/api/v2/uploads/batches/${batchId}` })],
    ['DELETE its batch', ({ batchId }) => ({ method: 'DELETE', url: `/api/v2/uploads/batches/${batchId}` })],
    [
      'POST a confirmation',
      ({ fileId, batchId }) => ({ method: 'POST', url: `/api/v2/uploads/batches/${batchId}/files/${fileId}/confirm` }),
    ],
  ];
  interface Ids {
    fileId: string;
    batchId: string;
  }
  const NONE: Ids = { fileId: NOBODY, batchId: NOBODY };

  /** What the database was asked while the call was answered. */
  async function statementsOf(call: { method?: 'GET' | 'POST' | 'DELETE'; url: string }) {
    const asked: string[] = [];
    const stop = api.listenToStatements((text) => asked.push(text));
    const response = await api.call({ ...call, as: BOB });
    stop();
    return { response, asked };
  }

  it.each(calls)('is answered to %s as if there were no such id, by the same statements', async (_what, callOf) => {
    const file: Announced = announced(TEXT, { clientId: 'own' });
    const own = await registerOne(api, ALICE, file);
    await send(api, own.uploadUrl);
    await run(`INSERT INTO file_texts VALUES ($1, '[]', 0, false, false)`, [own.fileId]);
    await run(`UPDATE items SET state = 'failed', ended_at = now() WHERE id = $1`, [own.fileId]);
    await statementsOf(callOf(NONE));
    const foreign = await statementsOf(callOf(own));
    const unknown = await statementsOf(callOf(NONE));
    expect(foreign.response.statusCode).toBe(404);
    expect(blank(foreign.response.body, own)).toBe(blank(unknown.response.body, NONE));
    expect(foreign.asked).toEqual(unknown.asked);
    expect(foreign.asked.length).toBeGreaterThan(0);
    expect(await stateOf(api, own.fileId)).toBe('failed');
  });

  function blank(body: string, { fileId, batchId }: Ids): string {
    return body
      .replaceAll(fileId, 'ID')
      .replaceAll(batchId, 'ID')
      .replace(/"requestId":"[^"]*"/, '');
  }

  it.each([REVIEWER, VIEWER])(
    'who is $sub sees where a file is, and neither reads nor changes it',
    async (operator) => {
      const { fileId, batchId } = await bring(api, ALICE);
      await makeReady(fileId);
      expect((await show(fileId, operator)).statusCode).toBe(200);
      expect((await api.call({ url: `/api/v2/uploads/batches/${batchId}`, as: operator })).statusCode).toBe(200);
      expect((await show(fileId, operator, '/text')).statusCode).toBe(404);
      expect((await show(fileId, operator, '/chunks')).statusCode).toBe(404);
      const deleted = await api.call({ method: 'DELETE', url: `/api/v2/files/${fileId}`, as: operator });
      expect([403, 404]).toContain(deleted.statusCode);
    },
  );

  it('who is an admin reads and deletes it', async () => {
    const { fileId } = await bring(api, ALICE);
    await makeReady(fileId);
    expect((await show(fileId, ADMIN, '/text')).statusCode).toBe(200);
    expect((await api.call({ method: 'DELETE', url: `/api/v2/files/${fileId}`, as: ADMIN })).statusCode).toBe(204);
  });
});
