import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startTimeOf } from '../../../scripts/pid-lock.mjs';
import { openDataDir } from '../../../src/start/embedded/data-dir.js';
import { tempDir } from '../temp-dir.js';

describe('the data folder', () => {
  it('is made for its user alone', () => {
    const path = join(tempDir(), 'deep', 'data');

    openDataDir(path);

    expect(statSync(path).mode & 0o777).toBe(0o700);
    expect(statSync(join(path, 'logs')).mode & 0o777).toBe(0o700);
  });

  it('is refused to a second instance, which is told who has it', () => {
    const path = tempDir();
    openDataDir(path);

    expect(() => openDataDir(path)).toThrow(
      `cannot start: ${path} is in use by another instance (pid ${process.pid}). Stop that one, or set DATA_DIR to another folder.`,
    );
  });

  it('is free again after its release', () => {
    const path = tempDir();
    openDataDir(path).release();

    expect(openDataDir(path).path).toBe(path);
  });

  it('is taken over when the instance that had it is dead', () => {
    const path = tempDir();
    const { pid } = spawnSync('true');
    writeFileSync(join(path, 'lock'), JSON.stringify({ pid }));

    expect(openDataDir(path).path).toBe(path);
  });

  it('is taken over when the pid of the instance that had it is now that of another process', async () => {
    const path = tempDir();
    const other = spawn('sleep', ['60']);
    onTestFinished(() => void other.kill());
    await once(other, 'spawn');
    const pid = other.pid as number;
    writeFileSync(join(path, 'lock'), JSON.stringify({ pid, started: `${startTimeOf(pid)} or before` }));

    expect(openDataDir(path).path).toBe(path);
  });
});
