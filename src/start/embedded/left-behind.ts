import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isAlive, startTimeOf } from '../../../scripts/pid-lock.mjs';
import { signalIfThere, waitUntilGone } from './os-process.js';
import type { Log } from './running.js';

interface Noted {
  name: string;
  pid: number;
  started: string | undefined;
}

/** Processes end when the channel to their supervisor closes. They may take this long. */
const GOING_MS = 2_000;

export interface ProcessNotes {
  note(name: string, pid: number): void;
  /** Ends the processes that an earlier start left behind, because the port of its API is needed. Returns the pids of that
   *  start, which are gone now. */
  endLeftBehind(log: Log): Promise<number[]>;
}

/** Keeps the pids of our Node processes in a file, for a start after the supervisor was killed. */
export function createProcessNotes(file: string): ProcessNotes {
  const noted = new Map<string, Noted>();

  function note(name: string, pid: number): void {
    noted.set(name, { name, pid, started: startTimeOf(pid) });
    writeFileSync(file, JSON.stringify([...noted.values()]), { mode: 0o600 });
  }

  async function endLeftBehind(log: Log): Promise<number[]> {
    const all = read(file);
    await Promise.all(all.filter(isThere).map((each) => end(each, log)));
    rmSync(file, { force: true });
    return all.filter((each) => each.started && !isThere(each)).map(({ pid }) => pid);
  }

  return { note, endLeftBehind };
}

/** Without a start time, the pid may belong to another process by now. */
function isThere({ pid, started }: Noted): boolean {
  return started !== undefined && isAlive(pid) && startTimeOf(pid) === started;
}

async function end({ name, pid }: Noted, log: Log): Promise<void> {
  if (await waitUntilGone(pid, GOING_MS)) return;
  log(`ending ${name} of an earlier start (pid ${pid})`);
  signalIfThere(pid, 'SIGKILL');
  await waitUntilGone(pid, GOING_MS);
}

function read(file: string): Noted[] {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Noted[];
  } catch {
    return []; // no earlier start, or a clean end
  }
}
