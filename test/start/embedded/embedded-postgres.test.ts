import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isAlive } from '../../../scripts/pid-lock.mjs';
import { startPostgres, type RunningPostgres } from '../../../src/start/embedded/embedded-postgres.js';
import { freePort } from '../../support/free-port.js';
import { startParent } from '../run-child.js';
import { tempDir } from '../temp-dir.js';

const NOBODY = { uid: 65_534, gid: 65_534 };
const isRoot = process.getuid?.() === 0;

async function start(dataDir: string, port?: number): Promise<RunningPostgres & { lines: string[] }> {
  const lines: string[] = [];
  const server = await startPostgres({ dataDir, port: port ?? (await freePort()), log: (line) => lines.push(line) });
  onTestFinished(server.stop);
  return { ...server, lines };
}

async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

describe('the embedded Postgres', () => {
  it('keeps its data from one start to the next', async () => {
    const dataDir = tempDir();
    const first = await start(dataDir);
    await query(first.url, 'create table kept as select 42 as answer');
    await first.stop();
    expect(isAlive(first.pid)).toBe(false);

    const second = await start(dataDir);

    expect(await query(second.url, 'select answer from kept')).toEqual([{ answer: 42 }]);
  });

  it('speaks UTF-8, asks for the password and listens on this machine only', async () => {
    const server = await start(tempDir());

    const [settings] = await query(
      server.url,
      `select lower('É') as lower, current_setting('server_encoding') as encoding, current_setting('listen_addresses') as
       addresses, current_setting('unix_socket_directories') as sockets, current_setting('max_connections') as sessions`,
    );

    expect(settings).toEqual({ lower: 'é', encoding: 'UTF8', addresses: '127.0.0.1', sockets: '', sessions: '200' });
    const stranger = new URL(server.url);
    stranger.password = 'guess';
    await expect(query(stranger.href, 'select 1')).rejects.toThrow(/password authentication failed/);
  });

  it('keeps password and data to itself', async () => {
    const dataDir = tempDir();
    await start(dataDir);

    expect(statSync(join(dataDir, 'postgres-password')).mode & 0o777).toBe(0o600);
    expect(statSync(join(dataDir, 'postgres')).mode & 0o777).toBe(0o700);
    expect(existsSync(join(dataDir, 'postgres-initdb-password'))).toBe(false);
  });

  it('stops the server that a killed parent left behind, and has all that was committed', async () => {
    const dataDir = tempDir();
    const parent = await startParent('postgres', { dataDir, port: await freePort() });
    await query(parent.where, 'create table kept as select 42 as answer');
    await parent.killHard();
    expect(isAlive(parent.serverPid)).toBe(true);

    const server = await start(dataDir, Number(new URL(parent.where).port));

    expect(isAlive(parent.serverPid)).toBe(false);
    expect(server.lines[0]).toContain(`left behind (pid ${parent.serverPid})`);
    expect(await query(server.url, 'select answer from kept')).toEqual([{ answer: 42 }]);
  });

  it('recovers after a kill -9 of the server, with sessions open', async () => {
    const dataDir = tempDir();
    const first = await start(dataDir);
    await query(first.url, 'create table kept as select 42 as answer');
    const session = new pg.Client({ connectionString: first.url });
    session.on('error', () => undefined);
    await session.connect();
    process.kill(first.pid, 'SIGKILL');
    expect(await first.exited).toEqual({ code: null, signal: 'SIGKILL' });

    const second = await start(dataDir);

    expect(await query(second.url, 'select answer from kept')).toEqual([{ answer: 42 }]);
  });

  it("is not held up by a pid file that names another program's process", async () => {
    const dataDir = tempDir();
    const first = await start(dataDir);
    const file = join(dataDir, 'postgres', 'postmaster.pid');
    const lines = readFileSync(file, 'utf8').split('\n');
    await first.stop();
    writeFileSync(file, [process.pid, ...lines.slice(1)].join('\n'));

    const second = await start(dataDir);

    expect(isAlive(second.pid)).toBe(true);
  });

  it('makes a cluster anew that was half made', async () => {
    const dataDir = tempDir();
    mkdirSync(join(dataDir, 'postgres.unfinished'));
    writeFileSync(join(dataDir, 'postgres.unfinished', 'PG_VERSION'), '18\n');

    const server = await start(dataDir);

    expect(await query(server.url, 'select 1 as one')).toEqual([{ one: 1 }]);
    expect(existsSync(join(dataDir, 'postgres.unfinished'))).toBe(false);
  });

  it('says why it does not start on a busy port, and leaves nothing running', async () => {
    const dataDir = tempDir();
    const busy = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void busy.close());
    await once(busy, 'listening');
    const { port } = busy.address() as { port: number };

    await expect(start(dataDir, port)).rejects.toThrow(/^cannot start: Postgres stopped while starting .*could not/);
    expect(existsSync(join(dataDir, 'postgres', 'postmaster.pid'))).toBe(false);
  });

  it('asks for a lost password file instead of guessing', async () => {
    const dataDir = tempDir();
    await (await start(dataDir)).stop();
    writeFileSync(join(dataDir, 'postgres-password'), '');
    await expect(start(dataDir)).rejects.toThrow(/postgres-password is missing or empty/);
    rmSync(join(dataDir, 'postgres-password'));

    await expect(start(dataDir)).rejects.toThrow(/postgres-password is missing/);
  });

  it('refuses the data of another version', async () => {
    const dataDir = tempDir();
    await (await start(dataDir)).stop();
    writeFileSync(join(dataDir, 'postgres', 'PG_VERSION'), '12\n');

    await expect(start(dataDir)).rejects.toThrow(/was written by Postgres 12, and the embedded one is 18/);
  });

  it('gives up when it is told to stop while starting', async () => {
    const dataDir = tempDir();
    const port = await freePort();

    await expect(startPostgres({ dataDir, port, log: () => undefined, signal: AbortSignal.abort() })).rejects.toThrow(
      /abort/i,
    );
    expect(existsSync(join(dataDir, 'postgres', 'postmaster.pid'))).toBe(false);
  });
});

describe('started by root', () => {
  it('runs as another user, who owns the data and nothing else', async ({ skip }) => {
    if (!isRoot) skip('not root');
    const dataDir = tempDir();
    const server = await start(dataDir);

    expect(statSync(`/proc/${server.pid}`).uid).not.toBe(0);
    expect(statSync(join(dataDir, 'postgres')).uid).toBe(statSync(`/proc/${server.pid}`).uid);
    expect(statSync(dataDir)).toMatchObject({ uid: 0, mode: 0o40_711 });
  });

  it('works below a folder that only root may enter', async ({ skip }) => {
    if (!isRoot) skip('not root');
    const closed = tempDir();
    chmodSync(closed, 0o700);
    const dataDir = join(closed, 'data');
    const first = await start(dataDir);
    await query(first.url, 'create table kept as select 42 as answer');
    await first.stop();

    const second = await start(dataDir);

    expect(await query(second.url, 'select answer from kept')).toEqual([{ answer: 42 }]);
    expect(statSync(join(dataDir, 'postgres')).uid).toBe(0);
  });

  it('takes back the data of a folder that others could enter before', async ({ skip }) => {
    if (!isRoot) skip('not root');
    const folder = tempDir();
    chmodSync(folder, 0o755);
    await (await start(join(folder, 'data'))).stop();
    expect(statSync(join(folder, 'data', 'postgres')).uid).not.toBe(0);
    chmodSync(folder, 0o700);

    const server = await start(join(folder, 'data'));

    expect(await query(server.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  });
});

describe('started by an ordinary user', () => {
  it('runs as that user', async ({ skip }) => {
    if (!isRoot) skip('not root: every other test here ran as an ordinary user');
    const dataDir = tempDir();
    chownSync(dataDir, NOBODY.uid, NOBODY.gid);
    const env = { HOME: dataDir, TMPDIR: dataDir };

    const parent = await startParent('postgres', { dataDir, port: await freePort() }, { ...NOBODY, env });

    expect(parent.userId).toBe(NOBODY.uid);
    expect(statSync(`/proc/${parent.serverPid}`).uid).toBe(NOBODY.uid);
    expect(await query(parent.where, 'select 1 as one')).toEqual([{ one: 1 }]);
    parent.child.kill('SIGTERM');
    expect(await parent.exited).toBe(0);
    expect(isAlive(parent.serverPid)).toBe(false);
  });
});
