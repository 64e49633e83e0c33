import { getEventListeners } from 'node:events';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isAlive } from '../../../scripts/pid-lock.mjs';
import { nodePart } from '../../../src/start/embedded/node-part.js';
import { StartError } from '../../../src/start/embedded/start-error.js';
import type { Exit } from '../../../src/start/embedded/running.js';
import { createSupervisor, type Part } from '../../../src/start/embedded/supervisor.js';
import { until } from '../../support/until.js';
import { runChild } from '../run-child.js';
import { tempDir } from '../temp-dir.js';

/** What nodePart adds to a child's own grace. */
const MARGIN_MS = 5_000;

/** A child that ends when asked does so in milliseconds, and on a busy machine never as late as this. */
const PATIENT_MS = 60_000;

/** A stubborn child must get to say that it was asked; longer than that takes, even on a busy machine. */
const STUBBORN_MS = 3_000;

const QUICK = { firstMs: 20, maxMs: 100, resetMs: 30_000 };

interface ChildOptions {
  environment?: Record<string, string>;
  endsWithinMs?: number;
  /** How long it may say nothing; left out: for ever. */
  silentMs?: number;
}

function setup(backoff = QUICK) {
  const said: string[] = [];
  const events: string[] = [];
  const pids = new Map<string, number[]>();
  const supervisor = createSupervisor({ say: (line) => said.push(line), backoff });
  onTestFinished(() => supervisor.stop());

  function child(name: string, script: string, options: ChildOptions = {}) {
    const { environment = {}, endsWithinMs = PATIENT_MS, silentMs } = options;
    const part = nodePart({
      name,
      script: join(import.meta.dirname, '../children', script),
      environment,
      graceMs: endsWithinMs - MARGIN_MS,
      log: (line) => events.push(`${name}: ${line}`),
      onSpawn: (pid) => pids.set(name, [...(pids.get(name) ?? []), pid]),
      ...(silentMs !== undefined && { silence: { limitMs: silentMs, say: (line) => said.push(line) } }),
    });
    return {
      ...part,
      async start(signal: AbortSignal) {
        const running = await part.start(signal);
        events.push(`${name} ready`);
        void running.exited.then(({ code, signal: by }) => events.push(`${name} gone (${by ?? code})`));
        return running;
      },
    };
  }
  return { supervisor, said, events, child, pidsOf: (name: string) => pids.get(name) ?? [] };
}

/** Listens to its signal for as long as it runs, which it does until it is stopped. */
function listeningPart(name: string, signals: AbortSignal[]): Part {
  return {
    name,
    async start(signal) {
      signal.addEventListener('abort', () => undefined);
      signals.push(signal);
      let end: (exit: Exit) => void = () => undefined;
      const exited = new Promise<Exit>((resolve) => {
        end = resolve;
      });
      const stop = () => end({ code: 0, signal: null });
      return Promise.resolve({ pid: 0, exited, stop: async () => Promise.resolve(stop()), kill: stop });
    },
  };
}

describe('the supervisor', () => {
  it('gives a child its settings and keeps what it says', async () => {
    const { supervisor, child, events } = setup();

    await supervisor.start([child('api', 'obedient.mjs', { environment: { TOLD: 'the secret' } })]);

    await until('the line is read', () => events.includes('api: told the secret'));
  });

  it('ends a child that is frozen, and starts it again; a child that speaks is left alone', async () => {
    const { supervisor, child, events, said, pidsOf } = setup();
    const silentMs = 3_000;
    await supervisor.start([
      child('frozen', 'speaking.mjs', { silentMs }),
      child('well', 'speaking.mjs', { silentMs }),
    ]);
    const [frozen = 0] = pidsOf('frozen');

    process.kill(frozen, 'SIGSTOP');

    await until('it is back', () => pidsOf('frozen').length === 2);
    expect(said).toContain('frozen has said nothing for 3 s; ending it');
    expect(events).toContain('frozen gone (SIGKILL)');
    expect(pidsOf('well')).toHaveLength(1);
  });

  it('gives each part a signal of its own, or Node would take many listeners for a leak', async () => {
    const { supervisor } = setup();
    const signals: AbortSignal[] = [];
    const parts = Array.from({ length: 30 }, (_, n) => listeningPart(`worker-${n}`, signals));

    await supervisor.start(parts);

    expect(signals.map((signal) => getEventListeners(signal, 'abort').length)).toEqual(parts.map(() => 1));
    await supervisor.stop();
    expect(signals.every(({ aborted }) => aborted)).toBe(true);
  });

  it('leaves no listener behind for a child that has become ready', async () => {
    const { child } = setup();
    const { signal } = new AbortController();

    const running = await child('api', 'obedient.mjs').start(signal);

    expect(getEventListeners(signal, 'abort')).toEqual([]);
    await running.stop();
  });

  it('starts a child again that was killed, after a wait that doubles up to the longest', async () => {
    const { supervisor, child, said, pidsOf } = setup();
    await supervisor.start([child('worker-1', 'obedient.mjs')]);

    for (const round of [1, 2, 3, 4, 5]) {
      process.kill(await until('it runs', () => pidsOf('worker-1')[round - 1]), 'SIGKILL');
      await until('its end was seen', () => said[round - 1]);
    }

    const waits = said.map((line) => /in ([\d.]+) s$/.exec(line)?.[1]);
    expect(waits).toEqual(['0.02', '0.04', '0.08', '0.1', '0.1']);
    expect(said[0]).toContain('worker-1 ended (signal SIGKILL)');
  });

  it('waits the shortest time again for a child that had run well', async () => {
    const { supervisor, child, said, pidsOf } = setup({ ...QUICK, resetMs: -1 });
    await supervisor.start([child('worker-1', 'obedient.mjs')]);

    for (const round of [1, 2, 3]) {
      process.kill(await until('it runs', () => pidsOf('worker-1')[round - 1]), 'SIGKILL');
      await until('its end was seen', () => said[round - 1]);
    }

    expect(said.map((line) => /in ([\d.]+) s$/.exec(line)?.[1])).toEqual(['0.02', '0.02', '0.02']);
  });

  it('tries again when a first start fails', async () => {
    const { supervisor, child, said } = setup();

    await supervisor.start([child('api', 'clumsy.mjs', { environment: { MARK: join(tempDir(), 'mark') } })]);

    expect(said).toEqual([expect.stringMatching(/api did not start .*error: not yet.*starting it again/)]);
  });

  it('gives up at once, with its own sentence, when a child says that its settings are wrong', async () => {
    const { supervisor, child, said } = setup();

    const started = supervisor.start([child('api', 'misconfigured.mjs')]);

    await expect(started).rejects.toThrow(new StartError('cannot start: 1 setting is wrong.\n  PORT: expected a port'));
    expect(said).toEqual([]);
  });

  it('stops what was started last first', async () => {
    const { supervisor, child, events } = setup();
    await supervisor.start([child('postgres', 'obedient.mjs')]);
    await supervisor.start([child('api', 'obedient.mjs'), child('worker-1', 'obedient.mjs')]);

    await supervisor.stop();

    const gone = events.filter((event) => event.includes('gone'));
    expect(gone.slice(0, 2).sort()).toEqual(['api gone (0)', 'worker-1 gone (0)']);
    expect(gone[2]).toBe('postgres gone (0)');
  });

  it('ends a child that does not end when asked', async () => {
    const { supervisor, child, events, pidsOf } = setup();
    await supervisor.start([child('worker-1', 'stubborn.mjs', { endsWithinMs: STUBBORN_MS })]);

    await supervisor.stop();

    expect(isAlive(pidsOf('worker-1')[0] as number)).toBe(false);
    expect(events).toEqual(['worker-1 ready', 'worker-1: asked to end', 'worker-1 gone (SIGKILL)']);
  });

  it('ends everything at once when told so', async () => {
    const { supervisor, child, events } = setup();
    await supervisor.start([child('api', 'stubborn.mjs')]);
    await supervisor.start([child('worker-1', 'stubborn.mjs')]);

    supervisor.kill();

    await until('both are gone', () => events.filter((event) => event.includes('gone (SIGKILL)')).length === 2);
    expect(events).not.toContain('api: asked to end');
  });

  it('starts nothing again once it stops', async () => {
    const { supervisor, child, said, pidsOf } = setup({ firstMs: 60_000, maxMs: 60_000, resetMs: 60_000 });
    await supervisor.start([child('worker-1', 'obedient.mjs')]);
    process.kill(pidsOf('worker-1')[0] as number, 'SIGKILL');
    await until('its end was seen', () => said.length === 1);

    await supervisor.stop();

    expect(pidsOf('worker-1')).toHaveLength(1);
  });

  it('stops while a child is still starting', async () => {
    const { supervisor, pidsOf, child } = setup();
    const started = supervisor.start([child('api', 'silent.mjs')]);
    const failed = expect(started).rejects.toThrow(/abort/i);
    const pid = await until('it was spawned', () => pidsOf('api')[0]);

    await supervisor.stop();

    await failed;
    expect(isAlive(pid)).toBe(false);
  });

  it('leaves no child behind when it is killed', async () => {
    const parent = runChild('test/start/children/supervising.ts');
    const pid = Number(await parent.said());
    expect(isAlive(pid)).toBe(true);

    await parent.killHard();

    await until('the child is gone', () => !isAlive(pid));
  });
});
