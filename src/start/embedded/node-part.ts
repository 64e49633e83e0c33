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
}

/** The child's own grace comes first; this much later it is ended. */
const MARGIN_MS = 5_000;

/** A Node process of ours. It says `{ ready: true }` over its channel, and ends by itself when the channel closes. */
export function nodePart({ name, script, environment, graceMs, log, onSpawn, onFall }: NodePartOptions): Part {
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
      return child;
    },
  };
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
