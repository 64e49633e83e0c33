import { createSkillScanner } from '../src/adapters/skill-scanner/skill-scanner.js';
import { readSamples } from './scan-data.js';
import { reportScans, type Scanned } from './scan-report.js';

/** Scans of each skill, after one to warm up. */
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
  try {
    for (const sample of samples) {
      const { findings } = await scanner.scan(sample.files, signal);
      const ms: number[] = [];
      for (let round = 0; round < REPEATS; round++) {
        const startedAt = performance.now();
        await scanner.scan(sample.files, signal);
        ms.push(performance.now() - startedAt);
      }
      scans.push({ sample, findings, ms });
    }
  } finally {
    scanner.close();
  }
  return reportScans(scans);
}
