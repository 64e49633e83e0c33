import { readdirSync, readFileSync } from 'node:fs';

/** Linux counts CPU time in hundredths of a second, whatever the kernel's own tick. */
const TICK_MS = 10;

/** CPU time of these processes and all their living descendants, in ms. Postgres forks a process a connection. */
export function cpuMsOf(roots: readonly number[]): number {
  const children = new Map<number, number[]>();
  const ticks = new Map<number, number>();
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    const fields = statOf(entry);
    if (!fields) continue;
    const pid = Number(entry);
    // utime, stime, and those of children that have ended.
    ticks.set(
      pid,
      [11, 12, 13, 14].reduce((sum, at) => sum + Number(fields[at]), 0),
    );
    children.set(Number(fields[1]), [...(children.get(Number(fields[1])) ?? []), pid]);
  }
  const tree = new Set(roots);
  for (const pid of tree) for (const child of children.get(pid) ?? []) tree.add(child);
  return [...tree].reduce((sum, pid) => sum + (ticks.get(pid) ?? 0), 0) * TICK_MS;
}

/** The fields behind the process's name, which may itself contain spaces and brackets. */
function statOf(pid: string): string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined; // ended meanwhile
  }
}
