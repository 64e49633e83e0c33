import { existsSync, readFileSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openLog } from '../../../src/start/embedded/log-file.js';
import { tempDir } from '../temp-dir.js';

describe('a log file', () => {
  it('goes on where an earlier start stopped', () => {
    const folder = tempDir();
    openLog(folder, 'api')('one');
    openLog(folder, 'api')('two');

    expect(readFileSync(join(folder, 'api.log'), 'utf8')).toBe('one\ntwo\n');
    expect(statSync(join(folder, 'api.log')).mode & 0o777).toBe(0o600);
  });

  it('costs lines, not the process, when the disk is full', ({ skip }) => {
    skip(!existsSync('/dev/full'), 'there is no /dev/full here: run it on Linux');
    const folder = tempDir();
    symlinkSync('/dev/full', join(folder, 'api.log'));

    expect(() => openLog(folder, 'api')('one')).not.toThrow();
  });

  it('makes room when it gets too large, and keeps what was last', () => {
    const folder = tempDir();
    const file = join(folder, 'api.log');
    writeFileSync(file, '');
    truncateSync(file, 10 * 1024 * 1024 + 1);

    openLog(folder, 'api')('new');

    expect(readFileSync(file, 'utf8')).toBe('new\n');
    expect(statSync(`${file}.1`).size).toBe(10 * 1024 * 1024 + 1);
  });

  it('makes room while it is written, too', () => {
    const folder = tempDir();
    const log = openLog(folder, 'api');
    for (let line = 0; line < 12; line += 1) log('x'.repeat(1024 * 1024));

    expect(statSync(join(folder, 'api.log')).size).toBeLessThan(11 * 1024 * 1024);
    expect(statSync(join(folder, 'api.log.1')).size).toBeLessThan(12 * 1024 * 1024);
  });
});
