import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isAlive } from '../../scripts/pid-lock.mjs';
import { projectRoot, variableNames } from '../../src/config.js';
import { freePort } from '../../src/start/free-port.js';
import { signalIfThere } from '../../src/start/os-process.js';
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

describe('npm start', () => {
  it(
    'starts everything, recovers from its own sudden death, and ends everything with npm',
    { timeout: TIMEOUT_MS },
    async () => {
      const dataDir = tempDir();
      const names = ['PORT', 'POSTGRES_PORT', 'TEMPORAL_PORT', 'TEMPORAL_UI_PORT'];
      const ports = await Promise.all(names.map(async (name) => [name, String(await freePort())] as const));
      const unset = Object.fromEntries(variableNames().map((name) => [name, '']));
      const settings: Record<string, string> = {
        ...unset,
        ...Object.fromEntries(ports),
        DATA_DIR: dataDir,
        WORKERS: '1',
      };
      const ready = `http://127.0.0.1:${settings['PORT']}/health/ready`;

      const first = await npmStart(settings);
      expect(await (await fetch(ready)).json()).toMatchObject({ status: 'ok' });
      const token = readFileSync(join(dataDir, 'admin-token'), 'utf8').trim();
      expect(first.said.join('\n')).toContain(token);
      const killed = pidsIn(dataDir);
      expect(killed.names).toEqual(['api', 'worker-1']);

      onTestFinished(() => killed.servers.forEach((pid) => signalIfThere(pid, 'SIGKILL')));
      process.kill(killed.supervisor, 'SIGKILL');
      await until('its children have ended by themselves', () => !killed.children.some(isAlive));
      expect(killed.servers.every(isAlive)).toBe(true);

      const second = await npmStart(settings);
      expect(killed.servers.some(isAlive)).toBe(false);
      expect(await (await fetch(ready)).json()).toMatchObject({ status: 'ok' });
      expect(second.said.join('\n')).not.toContain(token); // it is printed once
      const { supervisor, children, servers } = pidsIn(dataDir);

      second.shell.kill('SIGTERM');
      await once(second.shell, 'exit');
      await until('all is gone', () => ![supervisor, ...children, ...servers].some(isAlive), 60_000);
      await expect(fetch(ready)).rejects.toThrow();
    },
  );
});
