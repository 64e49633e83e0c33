import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { createExtractor, type ExtractorOptions } from '../../../../src/domains/file/adapters/extractor/extractor.js';
import type { Extraction, ExtractionProgress, Extractor } from '../../../../src/domains/file/ports/extractor.js';

const never = new AbortController().signal;

/** Extractors and contents of a test file, gone when its tests have ended. */
export function useExtractors() {
  const folder = mkdtempSync(join(tmpdir(), 'unstuck-contents-'));
  const open: Extractor[] = [];
  let written = 0;
  afterAll(() => {
    for (const extractor of open) extractor.close();
    rmSync(folder, { recursive: true, force: true });
  });

  function extractorOf(options: Partial<ExtractorOptions> = {}): Extractor {
    const extractor = createExtractor({ timeoutMs: 60_000, maxBytes: 1_024 ** 3, ...options });
    open.push(extractor);
    return extractor;
  }

  function onDisk(content: Buffer | string, name = 'content'): { path: string; name: string } {
    const path = join(folder, String((written += 1)));
    writeFileSync(path, content);
    return { path, name };
  }

  async function read(
    extractor: Extractor,
    content: Buffer | string,
    { name = 'content', signal = never, tell = (_: ExtractionProgress): void => undefined } = {},
  ): Promise<Extraction> {
    return extractor.extract(onDisk(content, name), signal, tell);
  }
  return { extractorOf, onDisk, read };
}
