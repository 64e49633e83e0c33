import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { resolve } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { freePort } from '../support/free-port.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';
import { until } from '../support/until.js';
import { ADMIN, SECRET, tokenOf } from './setup.js';

const root = resolve(import.meta.dirname, '../..');
const children = new Set<ChildProcess>();

// A process of its own takes many seconds to start where others want the cores too.
vi.setConfig({ testTimeout: 120_000 });

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterEach(async () => {
  for (const child of children) {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
  children.clear();
});
afterAll(() => database.drop());

interface Started {
  child: ChildProcess;
  ready: Promise<unknown>;
  exited: Promise<{ code: number; said: string }>;
}

function start(settings: Record<string, string>): Started {
  const child = spawn(process.execPath, ['--import', 'tsx', 'src/start/api.ts'], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...settings },
  });
  children.add(child);
  let said = '';
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => (said += chunk));
  child.stdout?.resume();
  // Its last words may come after its exit.
  const silent = child.stderr && once(child.stderr, 'end');
  const exited = Promise.all([once(child, 'exit'), silent]).then(([[code]]) => ({ code: code as number, said }));
  const ready = Promise.race([
    once(child, 'message').then(([message]) => message as unknown),
    exited.then(({ said: why }) => {
      throw new Error(`the API ended before it was ready: ${why}`);
    }),
  ]);
  ready.catch(() => undefined);
  return { child, ready, exited };
}

async function settingsFor(port: number): Promise<Record<string, string>> {
  return {
    PORT: String(port),
    DATABASE_URL: database.url,
    // Nothing listens there: the API must start all the same.
    TEMPORAL_ADDRESS: `127.0.0.1:${String(await freePort())}`,
    JWT_SECRET: SECRET,
  };
}

describe('the API process', () => {
  it('starts while Temporal is away, takes work, and ends cleanly when told to', async () => {
    const port = await freePort();
    const metricsPort = await freePort();
    const { child, ready, exited } = start({ ...(await settingsFor(port)), METRICS_PORT: String(metricsPort) });
    expect(await ready).toEqual({ ready: true });

    const url = `http://127.0.0.1:${String(port)}`;
    const health = await fetch(`${url}/health/ready`);
    expect(health.status).toBe(200);
    expect(await health.json()).toMatchObject({ status: 'degraded', parts: { temporal: { status: 'away' } } });
    const headers = { authorization: `Bearer ${await tokenOf(ADMIN)}` };
    const accepted = await fetch(`${url}/api/v1/canaries`, { method: 'POST', headers });
    expect(accepted.status).toBe(202);
    const { id } = (await accepted.json()) as { id: string };
    await until('the dispatcher has tried to start it', async () => {
      const { rows } = await database.pool.query('SELECT 1 FROM items WHERE id = $1 AND start_tries > 0', [id]);
      return rows.length > 0;
    });
    const metrics = await (await fetch(`http://127.0.0.1:${String(metricsPort)}/metrics`)).text();
    expect(metrics).toContain('unstuck_items{pipeline="canary",state="FIRST"} 1');

    child.kill('SIGTERM');
    expect(await exited).toMatchObject({ code: 0 });
  });

  it('ends when its supervisor is gone', async () => {
    const { child, ready, exited } = start(await settingsFor(await freePort()));
    await ready;
    child.disconnect();
    expect(await exited).toMatchObject({ code: 0 });
  });

  it('names every setting it misses, and says by its exit code that trying again is of no use', async () => {
    const { code, said } = await start({}).exited;
    expect(code).toBe(78);
    for (const name of ['DATABASE_URL', 'TEMPORAL_ADDRESS', 'JWT_SECRET']) expect(said).toContain(`${name}: expected`);
  });

  it('says which port is taken', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as { port: number };
    const { code, said } = await start(await settingsFor(port)).exited;
    expect(code).toBe(1);
    expect(said).toBe(`cannot start: port ${String(port)} is in use; end what listens there, or set PORT\n`);
    taken.close();
  });
});
