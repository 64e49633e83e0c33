import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { chunkStage } from '../../../../src/domains/file/activities/chunk.js';
import { extractStage } from '../../../../src/domains/file/activities/extract.js';
import { createWithContent } from '../../../../src/domains/file/adapters/extractor/with-content.js';
import type { Extractor } from '../../../../src/domains/file/ports/extractor.js';
import { tinyPdf } from '../../../../src/domains/file/start/tiny-contents.js';
import { useSpine } from '../../../support/spine.js';
import { blobsInMemory } from '../support/blobs-in-memory.js';
import { useExtractors } from '../support/contents.js';
import { queueFile, runStage } from '../support/queued-files.js';

const spine = useSpine();
const { extractorOf } = useExtractors();
const real = extractorOf();
const folder = mkdtempSync(join(tmpdir(), 'unstuck-stage-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A file with these bytes in the store, and the stage that reads it. */
async function given(bytes: Buffer, { name = 'a.txt', sizeBytes = bytes.length, sha256 = '', extractor = real } = {}) {
  const { id, blobKey } = await queueFile(spine, { name, sizeBytes });
  if (sha256 !== '') await spine.pool.query('UPDATE files SET sha256 = $2 WHERE id = $1', [id, sha256]);
  const blobs = blobsInMemory(new Map([[blobKey, bytes]]));
  const withContent = createWithContent(folder);
  const run = extractStage({ reads: spine.pool, blobs: blobs.open, extractor, withContent });
  return {
    id,
    blobs,
    extract: (signal?: AbortSignal) => runStage(spine, id, { stage: 'extract', run, ...(signal && { signal }) }),
  };
}

function chunk(id: string) {
  return runStage(spine, id, { stage: 'chunk', run: chunkStage({ reads: spine.pool, extractor: real }) });
}

async function rowsOf<Row>(text: string, id: string): Promise<Row[]> {
  return (await spine.pool.query(text, [id])).rows as Row[];
}

const TEXTS = 'SELECT parts, chars, is_recognized, is_truncated FROM file_texts WHERE file_id = $1';

/** Fails where the given extractor is asked. */
function extractorThat(extract: Extractor['extract']): Extractor {
  return { extract, split: () => Promise.resolve([]), childPid: () => undefined, close: () => undefined };
}

describe('the stage extract', () => {
  it('stores text and facts of a file in the commit, and leaves nothing on the disk', async () => {
    const { id, extract } = await given(tinyPdf('Greetings'), { name: 'a.pdf' });
    const { result, reports, commit } = await extract();

    expect(result).toMatchObject({ outcome: 'done', note: { format: 'pdf', pages: 1, chars: 9 } });
    expect(reports).toContainEqual({ page: 1, of: 1 });
    expect(readdirSync(folder)).toEqual([]);
    expect(await rowsOf(TEXTS, id)).toEqual([]);

    await commit();
    expect(await rowsOf(TEXTS, id)).toEqual([
      {
        parts: [{ kind: 'text', text: 'Greetings', page: 1 }],
        ...{ chars: 9, is_recognized: false, is_truncated: false },
      },
    ]);
    expect(await rowsOf('SELECT format, pages, width FROM files WHERE id = $1', id)).toEqual([
      { format: 'pdf', pages: 1, width: null },
    ]);
  });

  it('refuses bytes of another checksum than was announced, and reads those of the right checksum', async () => {
    const bytes = Buffer.from('Greetings');
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const right = await given(bytes, { sha256 });
    const wrong = await given(Buffer.from('Greeting!'), { sha256 });

    expect((await right.extract()).result.outcome).toBe('done');
    await expect(wrong.extract()).rejects.toThrow('another SHA-256');
  });

  it('replaces the text of an earlier time', async () => {
    const { id, extract } = await given(Buffer.from('first'));
    const { result, commit } = await extract();
    await spine.pool.query(
      `INSERT INTO file_texts (file_id, parts, chars) VALUES ($1, '[{"kind": "text", "text": "old"}]', 3)`,
      [id],
    );
    expect(result.outcome).toBe('done');
    await commit();
    expect(await rowsOf(TEXTS, id)).toMatchObject([{ parts: [{ text: 'first' }], chars: 5 }]);
  });

  it('writes nothing for an attempt that was superseded', async () => {
    const { id, extract } = await given(Buffer.from('late'));
    const { commit, hand } = await extract();
    await hand.claimed(id, { stage: 'extract', state: 'extracting', worker: 'worker-b' });

    expect(await commit()).toBe('superseded');
    expect(await rowsOf(TEXTS, id)).toEqual([]);
  });

  it.each([
    ['fewer', 10],
    ['more', 2],
  ])('fails, to be tried again, when the store has %s bytes than were registered', async (_, sizeBytes) => {
    const { extract, blobs } = await given(Buffer.from('12345'), { sizeBytes });

    await expect(extract()).rejects.toMatchObject({ code: 'extraction_failed', kind: 'unavailable' });
    expect(readdirSync(folder)).toEqual([]);
    expect(blobs.opened.every((stream) => stream.destroyed)).toBe(true);
  });

  it('removes the temporary file when the reading fails or is called off', async () => {
    const reason = new Error('called off');
    const control = new AbortController();
    const seen: string[][] = [];
    const extractor = extractorThat((_, signal) => {
      seen.push(readdirSync(folder));
      control.abort(reason);
      return Promise.reject(signal.reason as Error);
    });
    const { extract } = await given(Buffer.from('12345'), { extractor });

    await expect(extract(control.signal)).rejects.toBe(reason);
    expect(seen[0]).toHaveLength(1);
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe('the stage chunk', () => {
  it('stores the chunks of the text', async () => {
    const { id, extract } = await given(Buffer.from('# Plan\n\nOne two.\n\n## Next\n\nThree four.'), { name: 'a.md' });
    await (await extract()).commit();
    const { result, commit } = await chunk(id);
    await commit();

    expect(result).toMatchObject({ outcome: 'done', note: { chunks: 2, isCut: false } });
    expect(await rowsOf('SELECT seq, title, text FROM file_chunks WHERE file_id = $1 ORDER BY seq', id)).toEqual([
      { seq: 1, title: 'Plan', text: '# Plan\n\nOne two.' },
      { seq: 2, title: 'Plan > Next', text: '## Next\n\nThree four.' },
    ]);
  });

  it('ends a file without text with no chunks', async () => {
    const { id, extract } = await given(Buffer.from(' \n'));
    await (await extract()).commit();
    const { result, commit } = await chunk(id);
    await commit();

    expect(result).toMatchObject({ outcome: 'done', note: { chunks: 0 } });
    expect(await rowsOf('SELECT chunks FROM files WHERE id = $1', id)).toEqual([{ chunks: 0 }]);
    expect(await rowsOf('SELECT state FROM items WHERE id = $1', id)).toEqual([{ state: 'embedding' }]);
  });
});
