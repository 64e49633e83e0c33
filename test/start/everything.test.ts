import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isAlive } from '../../scripts/pid-lock.mjs';
import { projectRoot } from '../../src/config.js';
import { createApiClient } from '../../src/start/parts/api-client.js';
import { listVariableNames } from '../../src/start/parts/from-domains.js';
import { freePort } from '../support/free-port.js';
import { signalIfThere } from '../../src/start/embedded/os-process.js';
import { until } from '../support/until.js';
import { tempDir } from './temp-dir.js';

/** Everything starts twice here, on a machine that may be busy with other tests. */
const TIMEOUT_MS = 180_000;

/** What npm does for `npm start`: a shell, with Node in it. */
async function npmStart(settings: Record<string, string>) {
  const env = { ...process.env, ...settings, npm_lifecycle_event: 'start' };
  // The second command keeps the shell from becoming Node itself.
  const shell = spawn('sh', ['-c', 'node --import tsx src/start/all.ts; exit $?'], { cwd: projectRoot, env });
  const said: string[] = [];
  const isReady = new Promise<void>((resolve, reject) => {
    for (const stream of [shell.stdout, shell.stderr]) {
      createInterface({ input: stream }).on('line', (line) => {
        said.push(line);
        if (line === 'Ctrl-C stops everything.') resolve();
      });
    }
    shell.once('close', () => reject(new Error(said.join('\n'))));
  });
  onTestFinished(() => void shell.kill('SIGKILL'));
  await isReady;
  return { shell, said };
}

function pidsIn(dataDir: string) {
  const read = (file: string) => readFileSync(join(dataDir, file), 'utf8');
  const nodes = JSON.parse(read('processes.json')) as { name: string; pid: number }[];
  return {
    supervisor: (JSON.parse(read('lock')) as { pid: number }).pid,
    children: nodes.map(({ pid }) => pid),
    names: nodes.map(({ name }) => name).sort(),
    servers: [Number(read('postgres/postmaster.pid').split('\n')[0]), Number(read('temporal.db.pid'))],
  };
}

async function isReady(url: string): Promise<boolean> {
  const response = await fetch(url).catch(() => null); // nobody listens yet
  return response?.status === 200 && ((await response.json()) as { status: string }).status === 'ok';
}

/** Long enough to be killed in, short enough to wait for. */
const STAGE_MS = 5_000;

/** The API as its owner calls it. The client asks again when the API says that it is busy, as it may on a busy machine. */
function clientOf(port: string | undefined, token: string) {
  const url = `http://127.0.0.1:${port}`;
  const client = createApiClient({ name: 'test', url, token, whose: "an admin's" });
  async function call<Answer>(method: 'GET' | 'POST', path: string, body?: object): Promise<Answer> {
    const response = await client.call(method, `/api/v1/${path}`, body);
    const answer: unknown = await response.json();
    expect(response.ok, JSON.stringify(answer)).toBe(true);
    return answer as Answer;
  }
  return {
    submit: async (canary: object) => (await call<{ id: string }>('POST', 'canaries', canary)).id,
    workers: async () => (await call<{ workers: { name: string; state: string }[] }>('GET', 'workers')).workers,
    decide: (id: string, outcome: string) => call('POST', `items/${id}/decisions`, { outcome }),
    state: async (id: string) => (await call<{ state: string }>('GET', `items/${id}`)).state,
    isIn: async (id: string, stage: string) => {
      const { inflight } = await call<{ inflight: { stage: string }[] }>('GET', `items/${id}`);
      return inflight.some((task) => task.stage === stage);
    },
    effects: async (id: string) => {
      const { effects } = await call<{ effects: { stage: string; attempt: number }[] }>('GET', `canaries/${id}`);
      return effects.map(({ stage, attempt }) => `${stage} by attempt ${attempt}`);
    },
  };
}

describe('npm start', () => {
  it(
    'starts everything, recovers from its own sudden death with what it had begun, and ends everything with npm',
    { timeout: TIMEOUT_MS },
    async () => {
      const dataDir = tempDir();
      const names = ['PORT', 'POSTGRES_PORT', 'TEMPORAL_PORT', 'TEMPORAL_UI_PORT'];
      const ports = await Promise.all(names.map(async (name) => [name, String(await freePort())] as const));
      const unset = Object.fromEntries(listVariableNames().map((name) => [name, '']));
      const settings: Record<string, string> = {
        ...unset,
        ...Object.fromEntries(ports),
        DATA_DIR: dataDir,
        WORKERS: '1',
        // Shorter than the stage, which is therefore given back unfinished.
        SHUTDOWN_GRACE_MS: '1000',
      };
      const ready = `http://127.0.0.1:${settings['PORT']}/health/ready`;

      const isTokenThere = until('the API is ready', () => isReady(ready)).then(() =>
        existsSync(join(dataDir, 'admin-token')),
      );
      const first = await npmStart(settings);
      expect(await isTokenThere).toBe(true);
      expect(await (await fetch(ready)).json()).toMatchObject({ status: 'ok' });
      const token = readFileSync(join(dataDir, 'admin-token'), 'utf8').trim();
      expect(first.said.join('\n')).toContain(token);
      const killed = pidsIn(dataDir);
      expect(killed.names).toEqual(['api', 'worker-1']);
      const api = clientOf(settings['PORT'], token);
      const another = spawn(process.execPath, ['--import', 'tsx', 'src/start/worker.ts'], {
        cwd: projectRoot,
        env: { ...process.env, ...settings, WORKER_NAME: 'another' },
        stdio: 'ignore',
      });
      onTestFinished(() => void another.kill('SIGKILL'));
      await until('a worker started by hand has joined', async () =>
        (await api.workers()).some(({ name, state }) => name === 'another' && state === 'present'),
      );
      another.kill('SIGTERM');
      await once(another, 'exit');

      const undecided = await api.submit({ decision: true });
      await until('it waits for its decision', async () => (await api.state(undecided)) === 'AWAITING');
      const unfinished = await api.submit({ stageMs: [0, STAGE_MS, 0] });
      await until('it is in its second stage', () => api.isIn(unfinished, 'second'));

      onTestFinished(() => killed.servers.forEach((pid) => signalIfThere(pid, 'SIGKILL')));
      process.kill(killed.supervisor, 'SIGKILL');
      await until('its children have ended by themselves', () => !killed.children.some(isAlive));
      expect(killed.servers.every(isAlive)).toBe(true);

      const second = await npmStart(settings);
      expect(killed.servers.some(isAlive)).toBe(false);
      expect(await (await fetch(ready)).json()).toMatchObject({ status: 'ok' });
      expect(second.said.join('\n')).not.toContain(token); // it is printed once
      await until('the unfinished one is done', async () => (await api.state(unfinished)) === 'DONE', 60_000);
      const effects = ['first by attempt 1', 'second by attempt 2', 'third by attempt 1'];
      expect(await api.effects(unfinished)).toEqual(effects);
      await api.decide(undecided, 'approve');
      await until('the decided one is done', async () => (await api.state(undecided)) === 'DONE', 60_000);
      expect(await api.effects(undecided)).toHaveLength(3);
      const { supervisor, children, servers } = pidsIn(dataDir);

      second.shell.kill('SIGTERM');
      await once(second.shell, 'exit');
      await until('all is gone', () => ![supervisor, ...children, ...servers].some(isAlive), 60_000);
      await expect(fetch(ready)).rejects.toThrow();
    },
  );
});
