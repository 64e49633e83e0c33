import { createRulesJudge } from '../../../../src/domains/submission/adapters/judge/judge-rules.js';
import { createSkillScanner } from '../../../../src/domains/submission/adapters/scanner/skill-scanner.js';
import { DEFAULT_THRESHOLDS, judgeVerdictOf } from '../../../../src/domains/submission/core/judgement/judgement.js';
import { isBlocking } from '../../../../src/domains/submission/core/verdict/scan-verdict.js';
import type { ScanResult } from '../../../../src/domains/submission/ports/skill-scanner.js';
import { cpuMsOf } from '../../../../bench/cpu.js';
import { readSamples, type Sample } from './scan-data.js';
import { type End, reportScans, type Scanned } from './scan-report.js';

/** Scans of each skill, after one of each to warm up. */
const REPEATS = 3;

/** Recall by attack type, false positives and time of the deterministic scan, alone and with the built-in judge behind it, on
 *  labelled skills of others. */
export async function benchmark(read = readSamples): Promise<boolean> {
  const samples = read();
  if (!samples) {
    process.stdout.write('skipped: the labelled skills are not there (../shared/data/skills)\n');
    process.stdout.write(`${JSON.stringify({ benchmark: 'scan', skipped: true, met: null })}\n`);
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
      scans.push({ sample, ...rounds, end: await endOf(sample, rounds.findings, signal) });
    }
    cpuMs = (cpuMsOf([pid]) - before) / (samples.length * REPEATS);
  } finally {
    scanner.close();
  }
  return reportScans(scans, cpuMs);
}

const judge = createRulesJudge(DEFAULT_THRESHOLDS);

/** Where a submission of it would end: what fails the scan is not judged. */
async function endOf({ files }: Sample, findings: Scanned['findings'], signal: AbortSignal): Promise<End> {
  if (findings.some(isBlocking)) return 'failed';
  const skill = { files, contentHash: 'not asked for', commit: 'not asked for' };
  return judgeVerdictOf(await judge.judge(skill, findings, signal), judge.thresholds);
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
