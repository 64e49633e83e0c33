import { childEnvironment, EXIT_CONFIG, projectRoot } from '../../config.js';
import { describeExit, reasonIn, spawnRunning, type Log, type Spawned } from './running.js';
import { StartError } from './start-error.js';
import type { Part } from './supervisor.js';

export interface NodePartOptions {
  name: string;
  script: string;
  environment: Record<string, string | undefined>;
  graceMs: number;
  log: Log;
  /** Told of every process, so that the next start can end it should we be killed. */
  onSpawn?: (pid: number) => void;
  /** Told of every process that ended otherwise than it should. */
  onFall?: (pid: number) => void;
  /** A process that is silent for so long is ended, and so started again. Left out: it is left alone. */
  silence?: Silence;
}

export interface Silence {
  limitMs: number;
  say: Log;
}

/** The child's own grace comes first; this much later it is ended. */
const MARGIN_MS = 5_000;

/** How often the silence of a process is looked at; the process says that it is there once a second. */
const TICK_MS = 1_000;

/** A Node process of ours. It says `{ ready: true }` over its channel, and ends by itself when the channel closes. */
export function nodePart({ name, script, environment, graceMs, log, onSpawn, onFall, silence }: NodePartOptions): Part {
  return {
    name,
    async start(signal) {
      const child = await spawnRunning({
        command: process.execPath,
        args: ['--enable-source-maps', script],
        options: { stdio: ['ignore', 'pipe', 'pipe', 'ipc'], env: childEnvironment(environment), cwd: projectRoot },
        stopSteps: [{ signal: 'SIGTERM', graceMs: graceMs + MARGIN_MS }],
        log,
      });
      onSpawn?.(child.pid);
      void child.exited.then(({ code }) => code !== 0 && onFall?.(child.pid));
      try {
        await whenReady(child, name, signal);
      } catch (error) {
        await child.stop();
        throw error;
      }
      if (silence) endWhenSilent(child, name, silence);
      return child;
    },
  };
}

/** Ends a process that is frozen: nothing else would, because its lock is held and it does not answer SIGTERM. The silence is counted
 *  in ticks of our own timer, so that a machine which was suspended, we and the process with it, ends nobody. */
function endWhenSilent({ child, exited, kill }: Spawned, name: string, { limitMs, say }: Silence): void {
  let ticks = 0;
  child.on('message', () => {
    ticks = 0;
  });
  const timer = setInterval(() => {
    ticks += 1;
    if (ticks * TICK_MS < limitMs) return;
    clearInterval(timer);
    say(`${name} has said nothing for ${limitMs / 1_000} s; ending it`);
    kill();
  }, TICK_MS);
  void exited.then(() => {
    clearInterval(timer);
  });
}

async function whenReady(child: Spawned, name: string, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const onAbort = () => reject(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
    child.child.on('message', (message) => {
      if (!(message as { ready?: boolean }).ready) return;
      // Whoever stops it from now on has the process itself.
      signal.removeEventListener('abort', onAbort);
      resolve();
    });
    void child.exited.then((exit) => {
      signal.removeEventListener('abort', onAbort);
      const reason = reasonIn(child.lastLines);
      // Its settings are wrong, and it has said which: trying again can't help.
      if (exit.code === EXIT_CONFIG) reject(new StartError(child.lastLines.join('\n')));
      else reject(new Error(`${name} stopped while starting, ${describeExit(exit)}: ${reason}`));
    });
  });
}
