import { readFileSync } from 'node:fs';

/** The most that a process ever held in memory, in bytes, as the kernel counts it. */
export function peakMemoryOf(pid: number): number {
  const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${String(pid)}/status`, 'utf8')) ?? [];
  if (kilobytes === undefined) throw new Error(`the kernel does not say how much memory ${String(pid)} had`);
  return Number(kilobytes) * 1_024;
}
