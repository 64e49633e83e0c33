import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** A folder for one test, closed to other users. Its removal tries again for a second: what was killed may still write. */
export function tempDir(): string {
  const folder = mkdtempSync(join(tmpdir(), 'unstuck-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }));
  return folder;
}
