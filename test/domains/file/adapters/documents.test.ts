import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { createExtractor } from '../../../../src/domains/file/adapters/extractor/extractor.js';
import type { Extraction } from '../../../../src/domains/file/ports/extractor.js';
import { shownIn } from '../support/shown-text.js';

/** Real documents that others made. Nothing of them is in this repository. */
const folder = join(import.meta.dirname, '../../../../../shared/data');
const index = join(folder, 'documents/documents.json');

const TIMEOUT_MS = 60_000;
const MEMORY_MB = 1_024;

// Every document may take its own time limit.
vi.setConfig({ testTimeout: 1_200_000, hookTimeout: 1_200_000 });

const listed = z.array(
  z.object({ path: z.string(), expect: z.string(), words: z.array(z.string()).default([]), pages: z.int().optional() }),
);

interface Result {
  path: string;
  expect: string;
  format: string;
  ms: number;
  peakMb: number;
  /** Words that should be in the text and are not. */
  missing: string[];
  read: Extraction | undefined;
  code: string | undefined;
  sentence: string;
}

const extractor = createExtractor({ timeoutMs: TIMEOUT_MS, maxBytes: MEMORY_MB * 1_024 ** 2 });
const never = new AbortController().signal;

/** The most memory that a process ever had. Only Linux tells. */
function peakMbOf(pid: number | undefined): number {
  if (pid === undefined || !existsSync(`/proc/${pid}/status`)) return 0;
  return Math.round(Number(/VmHWM:\s*(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1_024);
}

async function tryDocument(document: z.infer<typeof listed>[number]): Promise<Result> {
  const path = join(folder, document.path);
  const startedAt = performance.now();
  let peakMb = 0;
  const watch = setInterval(() => (peakMb = Math.max(peakMb, peakMbOf(extractor.childPid()))), 50);
  const failure: { code?: string; message?: string } = {};
  const read = await extractor
    .extract({ path, name: path }, never, () => undefined)
    .catch((error: unknown) => void Object.assign(failure, error, { message: (error as Error).message }));
  clearInterval(watch);
  const ms = Math.round(performance.now() - startedAt);
  peakMb = Math.max(peakMb, peakMbOf(extractor.childPid()));
  const shown = read ? shownIn(read).toLowerCase() : '';
  const missing = document.words.filter((word) => !shown.includes(word.replace(/\s+/g, ' ').toLowerCase()));
  const format = read ? read.format : 'refused';
  return {
    ...document,
    format,
    ms,
    peakMb,
    missing,
    read: read ?? undefined,
    code: failure.code,
    sentence: failure.message ?? '',
  };
}

const results: Result[] = [];

function resultsOf(kind: string): Result[] {
  return results.filter((result) => result.expect === kind);
}

/** By format, the documents of which all words are found. */
function sharesOf(kind: string): string[] {
  const groups = new Map<string, { whole: number; all: number }>();
  for (const { path, missing, read } of resultsOf(kind)) {
    const format = read?.format ?? path.split('.').at(-1) ?? '';
    const group = groups.get(format) ?? { whole: 0, all: 0 };
    groups.set(format, { whole: group.whole + (read && missing.length === 0 ? 1 : 0), all: group.all + 1 });
  }
  return [...groups].map(([format, { whole, all }]) => `${kind.padEnd(6)} ${format.padEnd(9)} ${whole} of ${all}`);
}

function shareOf(kind: string): number {
  const all = resultsOf(kind);
  return all.filter(({ read, missing }) => read && missing.length === 0).length / all.length;
}

function testDocuments(): void {
  beforeAll(async () => {
    for (const document of listed.parse(JSON.parse(readFileSync(index, 'utf8'))))
      results.push(await tryDocument(document));
    const lines = [
      ...sharesOf('text'),
      ...sharesOf('ocr'),
      ...results
        .filter(({ missing, read }) => read && missing.length > 0)
        .map(({ path, missing }) => `missing in ${path}: ${missing.join(', ')}`),
      ...results
        .filter(({ sentence }) => sentence !== '')
        .map(({ expect: kind, path, code, ms, sentence }) => `${kind} ${path}: ${code} in ${ms} ms: ${sentence}`),
      ...results
        .filter(({ ms, peakMb }) => ms > 3_000 || peakMb > 400)
        .map(({ path, ms, peakMb }) => `${path}: ${ms} ms, ${peakMb} MB`),
      `peak memory: ${peakMbOf(process.pid)} MB here, ${Math.max(...results.map(({ peakMb }) => peakMb))} MB in a child`,
    ];
    process.stdout.write(`${lines.join('\n')}\n`);
  });
  afterAll(() => extractor.close());

  it('are read with all their words, nineteen of twenty at least', () => {
    expect(shareOf('text')).toBeGreaterThanOrEqual(0.95);
  });

  it('are read by their pictures where the text is in pictures', () => {
    expect(shareOf('ocr')).toBeGreaterThanOrEqual(0.8);
  });

  it('are refused with a clear sentence where they cannot be read', () => {
    for (const { path, code, sentence } of resultsOf('bad-input')) {
      expect([path, code]).toEqual([path, 'bad_input']);
      expect(sentence, path).toMatch(/^The |^A part |^Reading /);
    }
  });

  it('that are hostile end within the limits, as text or with a reason', () => {
    const ends = ['bad_input', 'extraction_timeout', undefined];
    for (const { path, code, ms, peakMb } of results) {
      expect(ends, path).toContain(code);
      expect(ms, path).toBeLessThan(TIMEOUT_MS + 10_000);
      // The watch looks ten times a second, so a process can grow a little beyond its limit.
      expect(peakMb, path).toBeLessThan(MEMORY_MB * 1.5);
    }
  });

  it('that are pictures have their dimensions, and pages are counted', () => {
    for (const { path, read } of [...resultsOf('image'), ...resultsOf('ocr')]) {
      if (read?.format !== 'pdf')
        expect([path, (read?.width ?? 0) > 0, (read?.height ?? 0) > 0]).toEqual([path, true, true]);
    }
    for (const { path, read } of results.filter((result) => result.format === 'pdf'))
      expect(read?.pages, path).toBeGreaterThan(0);
  });

  it('leave an extractor behind that reads the next file', async () => {
    const path = join(folder, 'documents/text/tika-testMARKDOWN.md');
    await expect(extractor.extract({ path, name: path }, never, () => undefined)).resolves.toMatchObject({
      format: 'markdown',
    });
  });

  it('are split into chunks of at most 512 tokens', async () => {
    for (const { path, read } of results) {
      if (!read) continue;
      const chunks = await extractor.split(read.parts, never);
      expect(Math.max(0, ...chunks.map(({ tokens }) => tokens)), path).toBeLessThanOrEqual(512);
      if (read.parts.length > 0) expect(chunks.length, path).toBeGreaterThan(0);
    }
  });
}

describe('documents that others made', () => {
  if (existsSync(index)) testDocuments();
  else it('are not beside this project', (context) => context.skip(`there is no ${index}`));
});
