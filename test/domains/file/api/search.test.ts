import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ADMIN, ALICE, BOB, openApi, type TestApi, type Who } from '../../../api/setup.js';
import { createFakeEmbedder, type FakeEmbedder } from '../support/fake-embedder.js';
import { type GivenFile, storeFile } from '../support/ready-files.js';

interface Answer {
  passages: {
    fileId: string;
    fileName: string;
    seq: number;
    page: number | null;
    title: string | null;
    text: string;
    foundBy: string[];
  }[];
  degraded: boolean;
  model: string | null;
  withoutVector: number | null;
}

let api: TestApi;
let embedder: FakeEmbedder;
beforeAll(async () => {
  embedder = createFakeEmbedder();
  api = await openApi({ embedder: async () => embedder });
});
beforeEach(() => {
  embedder.recover();
});
afterAll(() => api.close());

function store(given: Omit<GivenFile, 'embedder'> & { bare?: boolean }) {
  return storeFile(api.database.pool, given.bare ? given : { ...given, embedder });
}

function ask(as: Who, query: Record<string, string>) {
  return api.call({ url: `/api/v2/files/search?${new URLSearchParams(query).toString()}`, as });
}

async function search(as: Who, q: string, limit = 10): Promise<Answer> {
  const response = await ask(as, { q, limit: String(limit) });
  if (response.statusCode !== 200) throw new Error(response.body);
  return response.json<Answer>();
}

function textsOf({ passages }: Answer): string[] {
  return passages.map(({ text }) => text);
}

let people = 0;
/** Somebody without any files. */
function somebody(): Who & { sub: string } {
  people += 1;
  return { sub: `person ${people}`, roles: ['user'] };
}

describe('a search of files', () => {
  it.each([`${'-'.repeat(60)} zinc`, `${'- '.repeat(60)}zinc`, `zinc ${'-a '.repeat(100)}`, '-("-"-"-zinc'])(
    'answers an odd query like any other: %s',
    async (q) => {
      const who = somebody();
      await store({ owner: who.sub, texts: ['Zinc melts at 420 degrees.'] });
      expect((await search(who, q)).degraded).toBe(false);
    },
  );

  it('answers a line for each passage: its file, place, text, and how it was found', async () => {
    const who = somebody();
    const texts = [{ text: 'Zinc melts at 420 degrees.', title: 'Metals', page: 7 }];
    const { id } = await store({ owner: who.sub, name: 'metals.pdf', texts });

    const { passages, ...rest } = await search(who, 'zinc');

    expect(passages).toEqual([
      {
        ...{ fileId: id, fileName: 'metals.pdf', seq: 1, page: 7, title: 'Metals', text: 'Zinc melts at 420 degrees.' },
        ...{ score: expect.any(Number) as number, foundBy: ['words', 'meaning'] },
      },
    ]);
    expect(rest).toEqual({ degraded: false, model: 'letters', withoutVector: 0 });
  });

  it('puts a passage with the words first, and adds others by their meaning up to the limit', async () => {
    const who = somebody();
    await store({ owner: who.sub, texts: ['A tin of paint.', 'The zinc roof.', 'A cinz zicn nzic.'] });

    expect(textsOf(await search(who, 'zinc'))[0]).toBe('The zinc roof.');
    expect(textsOf(await search(who, 'zinc', 2))).toHaveLength(2);
    expect((await search(who, 'zinc')).passages.at(-1)?.foundBy).toEqual(['meaning']);
  });

  it('never finds a passage of another user, by words, by meaning or from memory', async () => {
    await store({ owner: ALICE.sub, texts: ['The secret recipe of the baker.'] });
    const own = await store({ owner: BOB.sub, texts: ['A bicycle.'] });
    const query = 'The secret recipe of the baker.';

    expect(textsOf(await search(ALICE, query))).toEqual(['The secret recipe of the baker.']);
    for (const round of [1, 2, 3]) {
      const [bobs, alices] = await Promise.all([search(BOB, query), search(ALICE, query)]);
      expect([round, ...bobs.passages.map(({ fileId }) => fileId)]).toEqual([round, own.id]);
      expect(textsOf(alices)).toEqual(['The secret recipe of the baker.']);
    }
    // An admin searches their own files alone, and has none.
    expect(await search(ADMIN, query)).toMatchObject({ passages: [] });
  });

  it.each(['embedding', 'failed', 'queued'])('finds nothing in a file that is in %s', async (state) => {
    const who = somebody();
    await store({ owner: who.sub, state, texts: ['zinc'] });

    expect((await search(who, 'zinc')).passages).toEqual([]);
  });

  it('no longer finds a file that is being deleted, retried or was changed, even from memory', async () => {
    const who = somebody();
    const [kept, deleted, retried] = [
      await store({ owner: who.sub, texts: ['zinc one'] }),
      await store({ owner: who.sub, texts: ['zinc two'] }),
      await store({ owner: who.sub, texts: ['zinc three'] }),
    ];
    expect((await search(who, 'zinc')).passages).toHaveLength(3);

    await api.database.pool.query('UPDATE files SET deleting_at = now() WHERE id = $1', [deleted.id]);
    await api.database.pool.query(`UPDATE items SET state = 'queued' WHERE id = $1`, [retried.id]);

    expect((await search(who, 'zinc')).passages.map(({ fileId }) => fileId)).toEqual([kept.id]);
  });

  it('finds by words alone while the embedder is away, and says so', async () => {
    const who = somebody();
    await store({ owner: who.sub, texts: ['The zinc roof.', 'A cinz.'] });
    embedder.breakDown();

    const answer = await search(who, 'zinc');

    expect(textsOf(answer)).toEqual(['The zinc roof.']);
    expect(answer).toMatchObject({ degraded: true, model: null, withoutVector: null });
  });

  it('counts the passages without a vector of the present model, and finds them by their words', async () => {
    const who = somebody();
    await store({ owner: who.sub, texts: ['The zinc roof.', 'A gutter of zinc.'], bare: true });
    await store({ owner: who.sub, texts: ['A tin of paint.'] });

    const answer = await search(who, 'zinc');

    expect(answer).toMatchObject({ degraded: false, withoutVector: 2 });
    expect(answer.passages.map(({ foundBy }) => foundBy.join())).toEqual(['words', 'words', 'meaning']);
  });

  it('leaves out passages with a word behind a minus, among those found by words', async () => {
    const who = somebody();
    await store({ owner: who.sub, texts: ['The zinc roof.', 'The zinc bath.'], bare: true });

    expect(textsOf(await search(who, 'zinc -bath'))).toEqual(['The zinc roof.']);
    expect(textsOf(await search(who, '"zinc bath"'))).toEqual(['The zinc bath.']);
  });

  it('shows of a long passage the part around the word', async () => {
    const who = somebody();
    const text = `${'Tin and lead. '.repeat(100)}Here is zinc. ${'Iron and steel. '.repeat(100)}`;
    await store({ owner: who.sub, texts: [text], bare: true });

    const [excerpt = ''] = textsOf(await search(who, 'zinc'));

    expect(excerpt).toContain('Here is zinc.');
    expect(excerpt).toMatch(/^….*…$/);
    expect(excerpt.length).toBeLessThan(700);
  });

  it.each([
    ['no query', {}],
    ['an empty query', { q: '' }],
    ['a query without a letter', { q: ' ?! ' }],
    ['a query that is too long', { q: 'a'.repeat(401) }],
    ['a limit of 0', { q: 'a', limit: '0' }],
    ['a limit over 50', { q: 'a', limit: '51' }],
    ['an unknown field', { q: 'a', owner: 'ann' }],
  ])('refuses %s with a sentence', async (_, query: Record<string, string>) => {
    const response = await ask(ALICE, query);

    expect(response.statusCode).toBe(400);
    expect(response.json<{ detail: string }>().detail).not.toBe('');
  });

  it.each([`it's "half a phrase`, ':* & | ! ()', `\\'; DROP TABLE files; --a`, 'or or -', '  𝒜 '])(
    'takes %j for words and nothing else',
    async (q) => {
      const who = somebody();
      await store({ owner: who.sub, texts: ['it’s half a phrase'] });

      expect((await ask(who, { q })).statusCode).toBe(/[\p{L}\p{N}]/u.test(q) ? 200 : 400);
    },
  );

  it('is refused without a token', async () => {
    expect((await api.call({ url: '/api/v2/files/search?q=a' })).statusCode).toBe(401);
  });
});
