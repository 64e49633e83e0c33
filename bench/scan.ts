import { createSkillScanner } from '../src/adapters/skill-scanner/skill-scanner.js';
import type { ScanResult } from '../src/ports/skill-scanner.js';
import { cpuMsOf } from './cpu.js';
import { readSamples } from './scan-data.js';
import { reportScans, type Scanned } from './scan-report.js';

/** Scans of each skill, after one of each to warm up. */
const REPEATS = 3;

/** Recall by attack type, false positives and time of the deterministic scan, on labelled skills of others. */
export async function scan(): Promise<boolean> {
  const samples = readSamples();
  if (!samples) {
    process.stdout.write('skipped: the labelled skills are not there (../shared/data/skills)\n');
    return true;
  }
  const scanner = createSkillScanner();
  const { signal } = new AbortController();
  const scans: Scanned[] = [];
  let cpuMs: number;
  try {
    for (const { files } of samples) await scanner.scan(files, signal);
    const pid = scanner.childPid() ?? NaN;
    const before = cpuMsOf([pid]);
    for (const sample of samples) {
      const rounds = await scanRepeatedly(() => scanner.scan(sample.files, signal));
      scans.push({ sample, ...rounds });
    }
    cpuMs = (cpuMsOf([pid]) - before) / (samples.length * REPEATS);
  } finally {
    scanner.close();
  }
  return reportScans(scans, cpuMs);
}

async function scanRepeatedly(scanOnce: () => Promise<ScanResult>): Promise<Pick<Scanned, 'findings' | 'ms'>> {
  const ms: number[] = [];
  let findings: Scanned['findings'] = [];
  for (let round = 0; round < REPEATS; round++) {
    const startedAt = performance.now();
    findings = (await scanOnce()).findings;
    ms.push(performance.now() - startedAt);
  }
  return { findings, ms };
}
