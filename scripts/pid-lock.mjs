import { execFileSync } from 'node:child_process';
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';

/** Reading and replacing takes microseconds; a note of either older than this was left by a crash. */
const STALE_AFTER_MS = 5_000;

/** Takes the lock for this process, or tells who has it. A lock whose process is gone is taken over, by one taker only. */
export function takePidLock(file) {
  if (create(file)) return taken(file);
  if (isHeld(file)) return { taken: false, pid: holderOf(file)?.pid };
  const guard = `${file}.takeover`;
  if (!create(guard)) {
    if (isOld(guard)) rmSync(guard, { force: true });
    return { taken: false, pid: holderOf(guard)?.pid };
  }
  try {
    // Looked at again: another may have taken it over just before.
    if (isHeld(file)) return { taken: false, pid: holderOf(file)?.pid };
    writeFileSync(`${file}.${process.pid}`, noteOfUs(), { mode: 0o600 });
    renameSync(`${file}.${process.pid}`, file);
    return taken(file);
  } finally {
    rmSync(guard, { force: true });
  }
}

/** False for a zombie too: under a container's first process nobody may ever reap it, and it holds nothing any more. */
export function isAlive(pid) {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: it is there, and belongs to another user.
    return error.code === 'EPERM';
  }
  return statFieldsOf(pid)?.[0] !== 'Z';
}

/** Tells two processes apart that got the same pid one after the other; undefined when it can't be known. */
export function startTimeOf(pid) {
  if (process.platform === 'linux') return statFieldsOf(pid)?.[19];
  try {
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim() || undefined;
  } catch {
    return undefined; // gone, or no ps on this platform
  }
}

function taken(file) {
  return { taken: true, release: () => rmSync(file, { force: true }) };
}

function create(file) {
  try {
    writeFileSync(file, noteOfUs(), { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}

function noteOfUs() {
  return JSON.stringify({ pid: process.pid, started: startTimeOf(process.pid) });
}

/** A note that can't be read is being written, or was left half written by a crash. */
function isHeld(file) {
  const holder = holderOf(file);
  if (!holder) return !isOld(file);
  return isAlive(holder.pid) && (holder.started === undefined || startTimeOf(holder.pid) === holder.started);
}

function isOld(file) {
  const found = statSync(file, { throwIfNoEntry: false });
  return found === undefined || Date.now() - found.mtimeMs > STALE_AFTER_MS;
}

function holderOf(file) {
  try {
    const { pid, started } = JSON.parse(readFileSync(file, 'utf8'));
    return Number.isInteger(pid) && pid > 0 ? { pid, started } : undefined;
  } catch {
    return undefined; // released just now, or not a whole note
  }
}

/** The fields after the command's name, which may itself hold spaces and brackets. */
function statFieldsOf(pid) {
  if (process.platform !== 'linux') return undefined;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined; // gone
  }
}
