import { createHash, randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { BlobStore, ExpectedBlob, StoredBlob } from '../../src/ports/blob-store.js';
import { verifyBlob } from '../../src/ports/verify-blob.js';
import { until } from '../support/until.js';
import { gatherKeys, GeneratedBytes, newKey, newOwner, PeakBuffers, putText } from './blobs.js';

export interface OpenedStore {
  store: BlobStore;
  /** A store of the same kind that does not answer. */
  away(): Promise<BlobStore> | BlobStore;
  /** A store of the same kind whose folder, container or bucket is not there. */
  misplaced(): Promise<BlobStore> | BlobStore;
  close(): Promise<void>;
}

export interface BlobStoreTraits {
  /** How the store words that a signed request has expired. Null: it has no signed requests. */
  expired: RegExp | null;
  /** The reason why the store cannot be had here. */
  missing?: string | undefined;
}

/** One size below and one above the sizes in which adapters send blobs. */
const SIZES = [1_000, 9_500_000];

const MB = 1_024 ** 2;

const HOSTILE = [
  ...['', '/', 'a', 'a/b', '/a/b/c', 'a/b/c/', 'a/b/c/d', 'a//c', 'a/b/c\n', 'a/b/c\0', 'a/b/c d'],
  ...['../a/b', 'a/../../b', 'a/b/..', 'a/./b', 'a/b/.', '.unfinished/b/c', 'a/b/.c', '..\\a/b/c', 'a/b\\..\\c/d'],
  ...['A/b/c', 'a/b/é', 'a/b/%2e%2e', 'a/b/c?d', 'a/b/c#d', 'C:/b/c', 'a-b/c/d', 'a/b-c/d', `a/b/${'c'.repeat(65)}`],
];

/** The promises of every blob store. */
export function blobStoreContract(name: string, open: () => Promise<OpenedStore>, traits: BlobStoreTraits): void {
  describe(`${name} keeps the blob store's promises`, () => {
    let opened: OpenedStore | undefined;
    let store: BlobStore;
    beforeAll(async () => {
      if (traits.missing !== undefined) return;
      opened = await open();
      store = opened.store;
    });
    beforeEach((context) => {
      if (traits.missing !== undefined) context.skip(traits.missing);
    });
    afterAll(() => opened?.close());

    async function expectNothing(key: string): Promise<void> {
      expect(await store.find(key)).toBeNull();
      expect(await store.list({ prefix: key, cursor: null, limit: 10 })).toEqual({ blobs: [], next: null });
    }

    it.each([0, ...SIZES])('gives back the %i bytes that it was given', async (size) => {
      const [key, content] = [newKey(), new GeneratedBytes(size)];
      const before = Date.now();

      const stored = await store.put(key, content.stream(), content.expected);

      expect(stored).toMatchObject({ key, sizeBytes: size });
      // Stores tell the time in whole seconds.
      expect(stored.storedAt.getTime()).toBeGreaterThan(before - 2_000);
      expect(stored.storedAt.getTime()).toBeLessThan(Date.now() + 2_000);
      expect(await store.find(key)).toEqual(stored);
      expect((await store.list({ prefix: key, cursor: null, limit: 10 })).blobs).toEqual([stored]);
      expect(sumOf(await buffer(await store.get(key)))).toBe(content.expected.sha256);
    });

    it('takes bytes without a checksum', async () => {
      const key = newKey();

      await store.put(key, Readable.from(['twelve', ' bytes']), { sizeBytes: 12 });

      expect(await text(await store.get(key))).toBe('twelve bytes');
    });

    it('refuses to overwrite a blob', async () => {
      const key = newKey();
      await putText(store, key, 'the first');

      await expect(putText(store, key, 'the second')).rejects.toMatchObject({ code: 'blob_exists' });

      expect(await text(await store.get(key))).toBe('the first');
    });

    it.each(SIZES)('lets exactly one of several puts win that come at once, with %i bytes', async (size) => {
      const key = newKey();
      const contents = Array.from({ length: 4 }, () => new GeneratedBytes(size));

      const puts = await Promise.allSettled(contents.map((each) => store.put(key, each.stream(), each.expected)));

      const won = puts.flatMap(({ status }, at) => (status === 'fulfilled' ? [at] : []));
      expect(won).toHaveLength(1);
      const refusals = puts.flatMap((put) => (put.status === 'rejected' ? [put.reason as unknown] : []));
      for (const refusal of refusals) expect(refusal).toMatchObject({ code: 'blob_exists' });
      const winner = contents[won[0] ?? -1];
      expect(sumOf(await buffer(await store.get(key)))).toBe(winner?.expected.sha256);
    });

    it('stores and gives 128 MB without having them in memory', { timeout: 120_000 }, async () => {
      const [key, content] = [newKey(), new GeneratedBytes(128 * MB)];
      const put = new PeakBuffers();
      await store.put(key, put.watch(content.stream()), content.expected);

      const [got, hash] = [new PeakBuffers(), createHash('sha256')];
      for await (const chunk of got.watch(await store.get(key))) hash.update(chunk as Buffer);

      expect(hash.digest('hex')).toBe(content.expected.sha256);
      // A block of 4 MB, a few of them that wait for the garbage collector, and the buffers of sockets.
      expect(put.grownBytes()).toBeLessThan(64 * MB);
      expect(got.grownBytes()).toBeLessThan(64 * MB);
      await store.delete(key);
    });

    const others: [string, (content: GeneratedBytes) => ExpectedBlob][] = [
      ['fewer bytes than announced', ({ expected }) => ({ sizeBytes: expected.sizeBytes + 1 })],
      ['more bytes than announced', ({ expected }) => ({ sizeBytes: expected.sizeBytes - 1 })],
      ['many more bytes than announced', () => ({ sizeBytes: 3 })],
      ['other bytes than announced', ({ expected }) => ({ ...expected, sha256: sumOf(Buffer.from('other')) })],
    ];
    it.each(others.flatMap((other) => SIZES.map((size) => [...other, size] as const)))(
      'refuses %s and keeps nothing (%o, %i)',
      async (_, expectedOf, size) => {
        const [key, content] = [newKey(), new GeneratedBytes(size)];

        const put = store.put(key, content.stream(), expectedOf(content));

        await expect(put).rejects.toMatchObject({ code: 'blob_mismatch' });
        await expectNothing(key);
        await store.put(key, content.stream(), content.expected);
      },
    );

    it('leaves the source of wrong bytes open, because a request has still to be answered', async () => {
      const bytes = new GeneratedBytes(5_000_000).stream();

      await expect(store.put(newKey(), bytes, { sizeBytes: 100 })).rejects.toMatchObject({ code: 'blob_mismatch' });

      expect(bytes.destroyed).toBe(false);
      bytes.destroy();
    });

    it.each(SIZES)('keeps nothing of a source that breaks off, and throws its error (%i bytes)', async (size) => {
      const [key, content] = [newKey(), new GeneratedBytes(size)];
      const why = new Error('the line is cut');
      const bytes = content.stream({ endAt: size / 2, with: why });

      await expect(store.put(key, bytes, content.expected)).rejects.toBe(why);

      await expectNothing(key);
    });

    it.each(SIZES)('keeps nothing of a put that is aborted, and throws the reason (%i bytes)', async (size) => {
      const [key, content, stop] = [newKey(), new GeneratedBytes(size), new AbortController()];
      const bytes = content.stream({ endAt: size / 2, with: null });
      bytes.once('stalled', () => stop.abort(new Error('no longer wanted')));

      await expect(store.put(key, bytes, content.expected, stop.signal)).rejects.toThrow('no longer wanted');

      expect(bytes.destroyed).toBe(true);
      await expectNothing(key);
    });

    it('gives a part of a blob', async () => {
      const key = newKey();
      await putText(store, key, '0123456789');
      const part = async (from: number, to: number) => text(await store.get(key, { range: { from, to } }));

      expect(await part(0, 0)).toBe('0');
      expect(await part(3, 6)).toBe('3456');
      expect(await part(8, 100)).toBe('89');
      expect(await part(10, 20)).toBe('');
    });

    it('says that a blob is missing', async () => {
      const key = newKey();

      await expect(store.get(key)).rejects.toMatchObject({ code: 'blob_missing' });
      await expect(store.get(key, { range: { from: 1, to: 2 } })).rejects.toMatchObject({ code: 'blob_missing' });
      await expectNothing(key);
    });

    it('lets a reader stop early', async () => {
      const [key, content] = [newKey(), new GeneratedBytes(9_500_000)];
      await store.put(key, content.stream(), content.expected);
      const [left, aborted, stop] = [await store.get(key), await store.get(key), new AbortController()];
      for await (const chunk of left) {
        expect(chunk).toBeDefined();
        break;
      }
      expect(left.destroyed).toBe(true);
      aborted.destroy();

      const stopped = await store.get(key, { signal: stop.signal });
      stop.abort();

      await expect(buffer(stopped)).rejects.toMatchObject({ name: 'AbortError' });
      expect((await buffer(await store.get(key))).length).toBe(9_500_000);
    });

    it('lists blobs in pages, in the order of their keys', async () => {
      const [one, other] = [newOwner(), newOwner()].sort() as [string, string];
      const keys = [one, other].flatMap((owner) => Array.from({ length: 7 }, () => newKey(owner)));
      keys.push(`use/${one}/a`, `use/${one}/a-b`, `use/${one}/a0`, `use/${one}/aaaaaaa`, `use/${one}/aaaaaaa-b`);
      await Promise.all(keys.toReversed().map((key) => putText(store, key, key)));
      const of = (owner: string): string[] => keys.filter((key) => key.includes(owner)).sort();

      expect(await gatherKeys(store, `use/${one}/`, 5)).toEqual([
        of(one).slice(0, 5),
        of(one).slice(5, 10),
        of(one).slice(10),
      ]);
      expect((await gatherKeys(store, `use/${other}/`, 100)).flat()).toEqual(of(other));
      expect((await gatherKeys(store, `use/${one}/aaaaaaa`, 1)).flat()).toEqual([
        `use/${one}/aaaaaaa`,
        `use/${one}/aaaaaaa-b`,
      ]);
      const all = (await gatherKeys(store, 'use/', 5)).flat();
      expect(all).toEqual(all.toSorted());
      expect(all).toEqual(expect.arrayContaining(keys));
      expect((await gatherKeys(store, '', 1_000)).flat()).toEqual(all);
    });

    it('goes on behind a cursor whose blob was deleted', async () => {
      const owner = newOwner();
      const keys = Array.from({ length: 9 }, () => newKey(owner)).sort();
      await Promise.all(keys.map((key) => putText(store, key, 'x')));
      const first = await store.list({ prefix: `use/${owner}/`, cursor: null, limit: 3 });

      for (const at of [1, 2, 3, 4]) await store.delete(keys[at] as string);
      const second = await store.list({ prefix: `use/${owner}/`, cursor: first.next, limit: 100 });

      expect(first.blobs.map(({ key }) => key)).toEqual(keys.slice(0, 3));
      expect(second.blobs.map(({ key }) => key)).toEqual(keys.slice(5));
      expect(second.next).toBeNull();
    });

    it('deletes twice without complaint, and takes the key again', async () => {
      const key = newKey();
      await putText(store, key, 'the first');

      await store.delete(key);
      await store.delete(key);
      await expectNothing(key);
      await putText(store, key, 'the second');

      expect(await text(await store.get(key))).toBe('the second');
    });

    it('keeps each blob where others of the owner are stored and deleted at once', async () => {
      const owner = newOwner();
      async function storeAndDelete(): Promise<StoredBlob | null> {
        const key = `use/${owner}/aaaaaaa-${randomUUID()}`;
        await putText(store, key, 'x');
        const found = await store.find(key);
        await store.delete(key);
        return found;
      }

      const found = await Promise.all(Array.from({ length: 40 }, storeAndDelete));

      expect(found.filter((each) => each === null)).toEqual([]);
      expect((await gatherKeys(store, `use/${owner}/`, 100)).flat()).toEqual([]);
    });

    it.each(HOSTILE)('refuses the key %j', async (key) => {
      const bytes = Readable.from(['x']);
      const expected = { sizeBytes: 1 };
      const asked: (() => Promise<unknown>)[] = [
        () => store.put(key, bytes, expected),
        () => store.get(key),
        () => store.find(key),
        () => store.delete(key),
        () => store.signPut(key, expected, new Date(Date.now() + 60_000)),
      ];
      for (const ask of asked) {
        await expect(Promise.resolve().then(ask)).rejects.toMatchObject({ code: 'invalid_input' });
      }
    });

    it.each(['..', '../', '/', '/etc/', 'use/../', 'use/.', '.unfinished/', 'USE/'])(
      'refuses to list what begins with %j',
      async (prefix) => {
        const listed = Promise.resolve().then(() => store.list({ prefix, cursor: null, limit: 1 }));
        await expect(listed).rejects.toMatchObject({ code: 'invalid_input' });
      },
    );

    it('proves itself, and leaves nothing behind', async () => {
      await store.check();

      expect((await store.list({ prefix: 'check/', cursor: null, limit: 10 })).blobs).toEqual([]);
    });

    it('does not take a missing folder, container or bucket for a missing blob', async () => {
      const misplaced = await (opened as OpenedStore).misplaced();
      const asked: (() => Promise<unknown>)[] = [
        () => misplaced.find(newKey()),
        () => misplaced.get(newKey()),
        () => misplaced.list({ prefix: 'use/', cursor: null, limit: 1 }),
        () => misplaced.list({ prefix: 'use/', cursor: newKey(), limit: 1 }),
        () => misplaced.delete(newKey()),
        () => putText(misplaced, newKey(), 'x'),
      ];

      const answers = await Promise.allSettled(asked.map((ask) => ask()));

      const unavailable = { status: 'rejected', reason: { code: 'blob_store_unavailable' } };
      for (const answer of answers) expect(answer).toMatchObject(unavailable);
    });

    it('says so when it does not answer', { timeout: 120_000 }, async () => {
      const away = await (opened as OpenedStore).away();
      const key = newKey();
      const asked: (() => Promise<unknown>)[] = [
        () => putText(away, key, 'x'),
        () => away.put(key, new GeneratedBytes(9_500_000).stream(), { sizeBytes: 9_500_000 }),
        () => away.get(key),
        () => away.find(key),
        () => away.list({ prefix: '', cursor: null, limit: 1 }),
        () => away.delete(key),
        () => away.check(),
      ];
      const answers = await Promise.allSettled(asked.map((ask) => ask()));

      const unavailable = { code: 'blob_store_unavailable', errorClass: 'STORAGE_ERROR', kind: 'unavailable' };
      for (const answer of answers) {
        expect(answer).toMatchObject({ status: 'rejected', reason: unavailable });
      }
      await away.close();
    });

    if (traits.expired === null) {
      it('has no signed requests', async () => {
        expect(await store.signPut(newKey(), { sizeBytes: 1 }, new Date(Date.now() + 60_000))).toBeNull();
      });
      return;
    }

    describe('by a signed request', () => {
      const { expired } = traits as { expired: RegExp };

      async function sign(key: string, expected: ExpectedBlob, forMs = 60_000) {
        const signed = await store.signPut(key, expected, new Date(Date.now() + forMs));
        if (!signed) throw new Error('the store signs nothing');
        const send = (body: string, { url = signed.url, without = [] as string[] } = {}): Promise<Response> => {
          // The client counts the bytes, as a browser does.
          const left = Object.entries(signed.headers).filter(
            ([each]) => !['content-length', ...without].includes(each),
          );
          return fetch(url, { method: 'PUT', body, headers: { ...Object.fromEntries(left) } });
        };
        return { ...signed, send };
      }
      const promise = (content: string) => ({ sizeBytes: content.length, sha256: sumOf(Buffer.from(content)) });

      it.each([true, false])('takes the announced blob; with a checksum: %o', async (hasSum) => {
        const key = newKey();
        const { sizeBytes, sha256 } = promise('announced');
        const signed = await sign(key, hasSum ? { sizeBytes, sha256 } : { sizeBytes });

        expect(await signed.send('announced')).toMatchObject({ ok: true });

        expect(await text(await store.get(key))).toBe('announced');
        expect(await verifyBlob(store, key, { sizeBytes, sha256 })).toMatchObject({ is: 'there', blob: { sizeBytes } });
      });

      it('replaces no blob, and takes no second one', async () => {
        const key = newKey();
        const signed = await sign(key, promise('announced'));
        await signed.send('announced');

        const again = await signed.send('announced');

        expect(again.status).toBeGreaterThanOrEqual(400);
        expect(again.status).toBeLessThan(500);
      });

      it('replaces no blob even when the client leaves out the condition', async () => {
        const key = newKey();
        await putText(store, key, 'the first');
        const signed = await sign(key, promise('the other'));

        expect(await signed.send('the other', { without: ['if-none-match'] })).toMatchObject({ ok: false });

        expect(await text(await store.get(key))).toBe('the first');
      });

      it.each([
        ['a shorter blob', 'ounced'],
        ['a longer blob', 'announced and more'],
        ['other bytes', 'ANNOUNCED'],
      ])('does not end with %s', async (_, content) => {
        const key = newKey();
        const expected = promise('announced');
        const signed = await sign(key, expected);

        const answer = await signed.send(content);

        if (!store.signsOnlyTheKey) expect(answer.ok).toBe(false);
        expect((await verifyBlob(store, key, expected)).is).toBe(store.signsOnlyTheKey ? 'other' : 'missing');
        await expectNothing(key);
        expect(await signed.send('announced')).toMatchObject({ ok: true });
      });

      it('stores nothing under another key', async () => {
        const [key, other] = [newKey(), newKey()];
        const { url, send } = await sign(key, promise('announced'));

        expect(await send('announced', { url: url.replace(key, other) })).toMatchObject({ ok: false });

        await expectNothing(key);
        await expectNothing(other);
      });

      it('is of no use when its time is over', async () => {
        const key = newKey();
        await putText(store, key, 'announced');
        const { send } = await sign(key, promise('announced'), 1_500);
        expect(await (await send('announced')).text()).not.toMatch(expired);

        await until('the signature has expired', async () => expired.test(await (await send('announced')).text()));
      });
    });
  });
}

function sumOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
