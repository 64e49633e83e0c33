import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { isAlive } from '../../../scripts/pid-lock.mjs';
import { commandLineOf, signalIfThere, waitUntilGone } from './os-process.js';
import { spawnRunning, untilReady, type Log, type Running, type Spawned } from './running.js';
import { StartError } from './start-error.js';

export interface TemporalOptions {
  cliPath: string;
  /** Where its state lives; in memory when left out. */
  dbFile?: string | undefined;
  port: number;
  /** false or left out: no Web UI. */
  uiPort?: number | false;
  namespace?: string;
  /** Instead of TIMER_SHIFT_MS. No setting leads here; tests and benchmarks look at servers whose timers are late. */
  timerShiftMs?: number;
  /** false: a server without priorities and turns, as one of an earlier version or a cluster may be. */
  isFair?: boolean;
  log: Log;
  /** Gives up starting when aborted. */
  signal?: AbortSignal;
}

export interface RunningTemporal extends Running {
  address: string;
}

/** Opening a file of some gigabytes after a crash replays its write-ahead log first. */
const READY_WITHIN_MS = 60_000;
/** It ends in about a second; SIGKILL after that loses nothing that was acknowledged (write-ahead log). */
const STOP_STEPS = [{ signal: 'SIGTERM', graceMs: 8_000 }] as const;

/** The server reads timers this far ahead, so no timer is shorter. Its default of a second would be the longest part of a recovery:
 *  the next attempt of a dead worker's stage waits for a timer. At 50 ms an idle server takes 1.3 % of a core instead of 0.4 %. */
const TIMER_SHIFT_MS = 50;

/** Starts the CLI's dev server on 127.0.0.1. */
export async function startTemporal(options: TemporalOptions): Promise<RunningTemporal> {
  const { cliPath, dbFile, port, namespace = 'default', log, signal } = options;
  if (dbFile) await stopTemporalLeftBehind(dbFile, log);
  const server = await spawnServer(cliPath, flagsOf(options), log);
  if (dbFile) notePid(pidFileOf(dbFile), server);
  const address = `127.0.0.1:${port}`;
  await untilReady(server, { name: 'Temporal', signal, check: (over) => whenReady(address, namespace, over) });
  if (dbFile) closeToOthers(dbFile);
  return { address, pid: server.pid, exited: server.exited, stop: server.stop, kill: server.kill };
}

/** After a kill -9 of its parent the server lives on, holding port and file. */
export async function stopTemporalLeftBehind(dbFile: string, log: Log): Promise<void> {
  const pid = pidIn(pidFileOf(dbFile));
  if (pid === undefined || !isAlive(pid) || !isOurServer(pid, dbFile)) return;
  log(`stopping the Temporal server that an earlier start left behind (pid ${pid})`);
  signalIfThere(pid, 'SIGTERM');
  if (await waitUntilGone(pid, 8_000)) return;
  signalIfThere(pid, 'SIGKILL');
  await waitUntilGone(pid, 5_000);
}

/** The queues of tasks that the server has still to do for its runs. */
const AT_ONCE = ['transfer', 'timer', 'visibility'];

function flagsOf({
  dbFile,
  port,
  uiPort = false,
  namespace = 'default',
  timerShiftMs = TIMER_SHIFT_MS,
  isFair = true,
}: TemporalOptions): string[] {
  return [
    ...['server', 'start-dev', '--ip', '127.0.0.1', '--port', String(port), '--namespace', namespace],
    ...['--log-level', 'warn', '--search-attribute', 'Pipeline=Keyword'],
    // At the default poll rate every dispatch costs 50 ms.
    ...['--dynamic-config-value', 'history.transferProcessorMaxPollRPS=200'],
    ...['--dynamic-config-value', 'history.timerProcessorMaxPollRPS=200'],
    ...['--dynamic-config-value', `history.timerProcessorMaxTimeShift="${timerShiftMs}ms"`],
    ...['--dynamic-config-value', 'system.enableActivityEagerExecution=true'],
    // Fairness switches priorities on as well. Without it Temporal works a backlog off first in, first out, whoever owns the items.
    ...['--dynamic-config-value', `matching.enableFairness=${isFair}`],
    // With the default of four, and a few workers, the last items of a batch came a second or two late now and then.
    ...['--dynamic-config-value', 'matching.numTaskqueueReadPartitions=1'],
    ...['--dynamic-config-value', 'matching.numTaskqueueWritePartitions=1'],
    // One connection reads the file. With 512 workers a queue, tasks that come together time out and back off longer and
    // longer.
    ...AT_ONCE.flatMap((queue) => ['--dynamic-config-value', `history.${queue}ProcessorSchedulerWorkerCount=16`]),
    // Else polls of a frozen worker stay open and swallow tasks, each for the length of a heartbeat timeout.
    ...['--dynamic-config-value', 'frontend.keepAliveTime="1s"'],
    ...['--dynamic-config-value', 'frontend.keepAliveTimeout="1s"'],
    ...(uiPort ? ['--ui-port', String(uiPort)] : ['--headless']),
    // The default journal is three times slower; with WAL a kill -9 loses nothing acknowledged either.
    ...(dbFile
      ? [
          '--db-filename',
          resolve(dbFile),
          '--sqlite-pragma',
          'journal_mode=WAL',
          '--sqlite-pragma',
          'synchronous=NORMAL',
        ]
      : []),
  ];
}

async function spawnServer(cliPath: string, args: string[], log: Log): Promise<Spawned> {
  try {
    return await spawnRunning({ command: cliPath, args, stopSteps: STOP_STEPS, log });
  } catch (cause) {
    throw new StartError(
      `cannot start: the Temporal CLI at ${cliPath} can't be run (${(cause as Error).message}). Set TEMPORAL_CLI_PATH.`,
      { cause },
    );
  }
}

function pidFileOf(dbFile: string): string {
  return `${resolve(dbFile)}.pid`;
}

function notePid(pidFile: string, server: Spawned): void {
  writeFileSync(pidFile, `${server.pid}\n`);
  void server.exited.then(() => rmSync(pidFile, { force: true }));
}

function pidIn(pidFile: string): number | undefined {
  try {
    return Number(readFileSync(pidFile, 'utf8')) || undefined;
  } catch {
    return undefined; // no earlier start, or it ended cleanly
  }
}

function isOurServer(pid: number, dbFile: string): boolean {
  const command = commandLineOf(pid);
  return command.includes('start-dev') && command.includes(resolve(dbFile));
}

/** The server makes its files readable for everyone, and the folder may have to be open (embedded Postgres under root). */
function closeToOthers(dbFile: string): void {
  for (const file of [dbFile, `${dbFile}-wal`, `${dbFile}-shm`]) if (existsSync(file)) chmodSync(file, 0o600);
}

/** Ready is when the namespace can be read, not when the port answers. */
async function whenReady(address: string, namespace: string, signal: AbortSignal): Promise<void> {
  const deadline = Date.now() + READY_WITHIN_MS;
  while (!signal.aborted) {
    try {
      const connection = await Connection.connect({ address, connectTimeout: 2_000 });
      try {
        await connection.workflowService.describeNamespace({ namespace });
        return;
      } finally {
        await connection.close();
      }
    } catch (error) {
      if (Date.now() > deadline)
        throw new StartError(`cannot start: Temporal does not answer on ${address}.`, { cause: error });
    }
    await pause(50);
  }
}
