import type { JudgeVerdict } from '../../../../src/domains/submission/core/judgement/judgement.js';
import { isBlocking } from '../../../../src/domains/submission/core/verdict/scan-verdict.js';
import type { ScanFinding } from '../../../../src/domains/submission/ports/skill-scanner.js';
import { textTable } from '../../../audit/text-table.js';
import { quantile } from '../../../../bench/quantile.js';
import type { Sample } from './scan-data.js';

/** At most so many benign skills of a sound structure may be refused, and a warm scan may take so long. */
const MAX_FALSE_POSITIVES = 0.1;
const MAX_P95_MS = 500;
/** "Most" of the malicious ones, by their content alone: a missing header is not a detection. */
const MIN_RECALL = 0.5;
/** What nobody has looked at may not be malicious. */
const MAX_PUBLISHED_UNSEEN = 0;

/** How a submission of it would go on: it fails the scan, or is judged. */
export type End = 'failed' | JudgeVerdict;

export interface Scanned {
  sample: Sample;
  findings: readonly ScanFinding[];
  ms: number[];
  end: End;
}

type Test = (scan: Scanned) => boolean;

export function reportScans(scans: readonly Scanned[], cpuMs: number): boolean {
  const malicious = scans.filter(({ sample }) => sample.label === 'malicious');
  const benign = scans.filter(({ sample }) => sample.label === 'benign');
  const sound = benign.filter(({ sample }) => !sample.breaksStructure);
  const ms = scans.flatMap((each) => each.ms);

  for (const line of tableOf(malicious, benign)) say(line);
  for (const scan of malicious.filter((each) => !isCaught(each))) say(`  not by content: ${lineOf(scan)}`);
  for (const scan of malicious.filter(isPublished)) say(`  malicious, published unseen: ${lineOf(scan)}`);
  for (const scan of benign.filter(isRefused)) say(`  benign, refused: ${lineOf(scan)}`);

  const [p50, p95] = [quantile(ms, 0.5), quantile(ms, 0.95)];
  say(
    `warm scan: p50 ${p50.toFixed(1)} ms, p95 ${p95.toFixed(1)} ms, worst ${Math.max(...ms).toFixed(1)} ms, ${String(ms.length)} scans, ${cpuMs.toFixed(1)} ms of CPU each`,
  );
  const figures = {
    recall: shareOf(malicious, isCaught),
    falsePositives: shareOf(sound, fails),
    p95,
    publishedUnseen: malicious.filter(isPublished).length,
    benignRefused: shareOf(sound, isRefused),
  };
  const goals: [string, boolean][] = [
    [`scan alone finds most by content: ${percent(figures.recall)}`, figures.recall >= MIN_RECALL],
    [
      `scan alone fails at most 10 % of sound benign ones: ${percent(figures.falsePositives)}`,
      figures.falsePositives <= MAX_FALSE_POSITIVES,
    ],
    [`scan p95 under ${String(MAX_P95_MS)} ms: ${p95.toFixed(0)} ms`, p95 < MAX_P95_MS],
    [
      `with the judge no malicious one is published unseen: ${String(figures.publishedUnseen)}`,
      figures.publishedUnseen <= MAX_PUBLISHED_UNSEEN,
    ],
    [
      `with the judge at most 10 % of sound benign ones are refused: ${percent(figures.benignRefused)}`,
      figures.benignRefused <= MAX_FALSE_POSITIVES,
    ],
  ];
  for (const [goal, isMet] of goals) say(`${goal}, ${isMet ? 'met' : 'MISSED'}`);
  const met = goals.every(([, isMet]) => isMet);
  const reviewed = { malicious: shareOf(malicious, isReviewed), benign: shareOf(benign, isReviewed) };
  say(JSON.stringify({ benchmark: 'scan', met, ...figures, reviewed, p50, cpuMs, scans: ms.length }));
  return met;
}

/** The scan alone on the left, the scan with the judge behind it on the right. */
function tableOf(malicious: readonly Scanned[], benign: readonly Scanned[]): string[] {
  const typeOf = ({ sample }: Scanned): string => sample.attackType.toLowerCase();
  const types = [...new Set(malicious.map(typeOf))].sort();
  const groups: [string, readonly Scanned[]][] = [
    ...types.map((type): [string, Scanned[]] => [type, malicious.filter((scan) => typeOf(scan) === type)]),
    ['all malicious', malicious],
    ['benign, sound structure', benign.filter(({ sample }) => !sample.breaksStructure)],
    ['benign, an archive or a binary', benign.filter(({ sample }) => sample.breaksStructure)],
    ['all benign', benign],
  ];
  return textTable(
    ['', 'skills', 'scan: by content', 'scan: failed', 'with judge: refused', 'to a person', 'published unseen'],
    groups.map(([name, scans]) => [
      ...[name, scans.length],
      ...[isCaught, fails, isRefused, isReviewed, isPublished].map((test) => scans.filter(test).length),
    ]),
  );
}

const fails: Test = ({ end }) => end === 'failed';

const isCaught: Test = ({ findings }) =>
  findings.some((finding) => isBlocking(finding) && finding.category !== 'structure');

const isRefused: Test = ({ end }) => end === 'failed' || end === 'reject';

const isReviewed: Test = ({ end }) => end === 'review';

const isPublished: Test = ({ end }) => end === 'approve';

function shareOf(scans: readonly Scanned[], test: Test): number {
  return scans.filter(test).length / scans.length;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

/** Ids of rules alone: what matched may be hostile. */
function lineOf({ sample, findings, end }: Scanned): string {
  const ids = new Set(findings.map(({ id, severity }) => `${id} ${severity}`));
  return `${sample.id} (${end}): ${[...ids].join(', ')}`;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
