import { once } from 'node:events';
import { chmodSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { listVariableNames } from '../../src/start/parts/from-domains.js';
import { openDataDir } from '../../src/start/embedded/data-dir.js';
import { freePort } from '../support/free-port.js';
import { runChild } from './run-child.js';
import { tempDir } from './temp-dir.js';

/** Runs what `npm start` runs, with settings that can't work, to its end. */
async function failedStart(settings: Record<string, string>, account: { uid?: number; gid?: number } = {}) {
  const names = ['PORT', 'POSTGRES_PORT', 'TEMPORAL_PORT', 'TEMPORAL_UI_PORT'];
  const ports = await Promise.all(names.map(async (name) => [name, String(await freePort())] as const));
  // Nothing of the developer's own environment or .env: an empty variable counts as not set.
  const unset = Object.fromEntries(listVariableNames().map((name) => [name, '']));
  const env = { ...unset, DATA_DIR: tempDir(), ...Object.fromEntries(ports), ...settings };
  const child = runChild('src/start/all.ts', [], { env, ...account });
  return { code: await child.exited, said: child.output() };
}

async function busyPort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return String((server.address() as { port: number }).port);
}

function databaseUrl(change: (url: URL) => void): string {
  const url = new URL(inject('databaseUrl'));
  change(url);
  return url.href;
}

describe('npm start says in one sentence why it can not', () => {
  it('when settings are wrong, all of them at once', async () => {
    const { code, said } = await failedStart({ PORT: 'http', WORKERS: 'many' });

    expect(code).toBe(78);
    expect(said).toBe(
      "cannot start: 2 settings are wrong.\n  PORT: expected a port from 1 to 65535, got 'http'\n" +
        "  WORKERS: expected a whole number from 0 to 64, got 'many'\n",
    );
  });

  it('when ports are in use, before anything is started', async () => {
    const [api, postgres] = await Promise.all([busyPort(), busyPort()]);

    const { code, said } = await failedStart({ PORT: api, POSTGRES_PORT: postgres });

    expect(code).toBe(1);
    expect(said).toBe(
      `cannot start: port ${api} (PORT) is in use by another program. Stop that program, or set PORT to another port. ` +
        `port ${postgres} (POSTGRES_PORT) is in use by another program. Stop that program, or set POSTGRES_PORT to another port.\n`,
    );
  });

  it('when another instance has the data folder', async () => {
    const dataDir = tempDir();
    openDataDir(dataDir);

    const { code, said } = await failedStart({ DATA_DIR: dataDir });

    expect(code).toBe(1);
    expect(said).toContain(`${dataDir} is in use by another instance (pid ${process.pid})`);
  });

  it('when the data folder can not be written', async () => {
    const parent = tempDir();
    chmodSync(parent, 0o555);
    // Root may write everywhere, so there another user tries.
    const account = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

    const { code, said } = await failedStart({ DATA_DIR: join(parent, 'data'), TMPDIR: '/tmp' }, account);

    expect(code).toBe(1);
    expect(said).toMatch(
      /^cannot start: the data folder .*data can't be written \(EACCES\)\. Give it to the user who starts/,
    );
  });

  it('when nothing answers at DATABASE_URL', async () => {
    const port = await freePort();

    const { code, said } = await failedStart({ DATABASE_URL: `postgresql://u:p@127.0.0.1:${port}/unstuck` });

    expect(code).toBe(1);
    expect(said).toBe(
      `cannot start: DATABASE_URL points to 127.0.0.1:${port}, where nothing answers. ` +
        'Start Postgres there, or unset it to use the embedded one.\n',
    );
  });

  it('when DATABASE_URL is not one', async () => {
    const { code, said } = await failedStart({ DATABASE_URL: 'localhost:5432' });

    expect(code).toBe(78);
    expect(said).toContain('DATABASE_URL: expected a URL such as postgresql://user:password@host:5432/database');
  });

  it('when the password is wrong, without repeating it', async () => {
    const url = databaseUrl((each) => (each.password = 'hunter2'));

    const { code, said } = await failedStart({ DATABASE_URL: url });

    expect(code).toBe(1);
    expect(said).toMatch(
      /^cannot start: the Postgres at 127\.0\.0\.1:\d+ refused user 'unstuck'\. Correct user and password/,
    );
    expect(said).not.toContain('hunter2');
  });

  it('when the database does not exist', async () => {
    const url = databaseUrl((each) => (each.pathname = '/nowhere'));

    const { code, said } = await failedStart({ DATABASE_URL: url });

    expect(code).toBe(1);
    expect(said).toMatch(
      /^cannot start: the Postgres at .* has no database 'nowhere'\. Create it, or correct DATABASE_URL\.\n$/,
    );
  });

  it('when nothing answers at TEMPORAL_ADDRESS', async () => {
    const port = await freePort();

    const { code, said } = await failedStart({ TEMPORAL_ADDRESS: `127.0.0.1:${port}` });

    expect(code).toBe(1);
    expect(said).toMatch(
      new RegExp(`^cannot start: TEMPORAL_ADDRESS points to 127.0.0.1:${port}, where nothing answers`),
    );
  });

  it('when the namespace does not exist', async () => {
    const settings = { TEMPORAL_ADDRESS: inject('temporalAddress'), TEMPORAL_NAMESPACE: 'nowhere' };

    const { code, said } = await failedStart(settings);

    expect(code).toBe(1);
    expect(said).toContain("has no namespace 'nowhere'. Create it, or correct TEMPORAL_NAMESPACE.");
  });

  it('when the Temporal CLI is not where TEMPORAL_CLI_PATH says', async () => {
    const { code, said } = await failedStart({ TEMPORAL_CLI_PATH: join(tempDir(), 'temporal') });

    expect(code).toBe(1);
    expect(said).toContain('cannot start: TEMPORAL_CLI_PATH names');
  });
});
