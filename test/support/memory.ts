import { readFileSync } from 'node:fs';

/** The most that a process ever held in memory, in bytes, as the kernel counts it. */
export function peakMemoryOf(pid: number): number {
  return memoryLineOf(pid, 'VmHWM');
}

/** What a process holds in memory at this moment, in bytes. */
export function memoryHeldBy(pid: number): number {
  return memoryLineOf(pid, 'VmRSS');
}

function memoryLineOf(pid: number, line: 'VmHWM' | 'VmRSS'): number {
  const status = readFileSync(`/proc/${String(pid)}/status`, 'utf8');
  const [, kilobytes] = new RegExp(`^${line}:\\s+(\\d+) kB$`, 'm').exec(status) ?? [];
  if (kilobytes === undefined) throw new Error(`the kernel does not say how much memory ${String(pid)} has`);
  return Number(kilobytes) * 1_024;
}
