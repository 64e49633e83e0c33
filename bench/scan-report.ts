import { isBlocking } from '../src/core/skill-verdict.js';
import type { Finding } from '../src/ports/skill-scanner.js';
import { quantile } from './quantile.js';
import type { Sample } from './scan-data.js';

/** At most so many benign skills of a sound structure may fail, and a warm scan may take so long. */
const MAX_FALSE_POSITIVES = 0.1;
const MAX_P95_MS = 500;
/** "Most" of the malicious ones, by their content alone: a missing header is not a detection. */
const MIN_RECALL = 0.5;

export interface Scanned {
  sample: Sample;
  findings: readonly Finding[];
  ms: number[];
}

/** A tier that judges a skill after the scan adds its verdicts here, as a second column beside the scan's. */
export function reportScans(scans: readonly Scanned[], cpuMs: number): boolean {
  const malicious = scans.filter(({ sample }) => sample.label === 'malicious');
  const benign = scans.filter(({ sample }) => sample.label === 'benign');
  const sound = benign.filter(({ sample }) => !sample.breaksStructure);
  const wrong = sound.filter(({ findings }) => findings.some(isBlocking));
  const ms = scans.flatMap((each) => each.ms);

  const types = new Set(malicious.map(({ sample }) => sample.attackType.toLowerCase()));
  for (const type of [...types].sort()) {
    const of = malicious.filter(({ sample }) => sample.attackType.toLowerCase() === type);
    say(`${type.padEnd(46)} ${counted(of, isCaught)} by content, ${counted(of, fails)} failed`);
  }
  say(`all malicious: ${counted(malicious, isCaught)} by content, ${counted(malicious, fails)} failed`);
  say(`benign of a sound structure: ${counted(sound, fails)} failed`);
  const unsound = benign.filter(({ sample }) => sample.breaksStructure);
  say(
    `benign with an archive or a binary: ${counted(unsound, fails)} failed, ${counted(unsound, isCaught)} by content`,
  );
  for (const scan of malicious.filter((each) => !isCaught(each))) say(`  not by content: ${lineOf(scan, false)}`);
  for (const scan of wrong) say(`  benign, failed: ${lineOf(scan, true)}`);

  const recall = malicious.filter(isCaught).length / malicious.length;
  const falsePositives = wrong.length / sound.length;
  const [p50, p95] = [quantile(ms, 0.5), quantile(ms, 0.95)];
  say(
    `warm scan: p50 ${p50.toFixed(1)} ms, p95 ${p95.toFixed(1)} ms, worst ${Math.max(...ms).toFixed(1)} ms, ${String(ms.length)} scans, ${cpuMs.toFixed(1)} ms of CPU each`,
  );
  const met = recall >= MIN_RECALL && falsePositives <= MAX_FALSE_POSITIVES && p95 < MAX_P95_MS;
  say(JSON.stringify({ benchmark: 'scan', met, recall, falsePositives, p50, p95, cpuMs, scans: ms.length }));
  return met;
}

function fails({ findings }: Scanned): boolean {
  return findings.some(isBlocking);
}

function isCaught({ findings }: Scanned): boolean {
  return findings.some((finding) => isBlocking(finding) && finding.category !== 'structure');
}

function counted(scans: readonly Scanned[], test: (scan: Scanned) => boolean): string {
  return `${String(scans.filter(test).length)}/${String(scans.length)}`;
}

/** Ids of rules alone: what matched may be hostile. */
function lineOf({ sample, findings }: Scanned, blocking: boolean): string {
  const told = findings.filter((finding) => !blocking || isBlocking(finding));
  const ids = new Set(
    told.map(({ id, severity, file, line }) => (blocking ? `${id} (${file}:${String(line)})` : `${id} ${severity}`)),
  );
  return `${sample.id}: ${[...ids].join(', ')}`;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
