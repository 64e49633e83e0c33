import { quantile } from '../../../../bench/quantile.js';
import { textTable } from '../../../audit/text-table.js';
import type { LoadReport } from './load-run.js';

/** Nothing lost, nothing twice, and everything where it belongs; how long it took is told apart. */
export function loadFindings(report: LoadReport): string[] {
  const { items, settled, lost, elsewhere, complaints, published, versions, stagesTwice, brokenTrails } = report;
  const checks: [ok: boolean, what: string][] = [
    [lost.length === 0, `${String(lost.length)} are lost: ${lost.slice(0, 5).join(', ')}`],
    [settled.length === items, `${String(settled.length)} submissions of ${String(items)} skills`],
    [versions === published, `${String(versions)} versions of ${String(published)} published submissions`],
    [stagesTwice === 0, `${String(stagesTwice)} stages were done twice`],
    [brokenTrails === 0, `${String(brokenTrails)} trails have a hole`],
  ];
  return [...checks.flatMap(([ok, what]) => (ok ? [] : [what])), ...elsewhere, ...complaints];
}

interface Promised {
  part: string;
  ms: readonly number[];
  p50: number;
  p95: number;
}

/** What is promised of each part: typically, and nineteen times of twenty. */
function promisesOf({ settled, stageMs, publishMs }: LoadReport): Promised[] {
  return [
    { part: 'Tier 1 scan', ms: stageMs['scanTier1'] ?? [], p50: 500, p95: 1_000 },
    { part: 'Tier 2 judgement', ms: stageMs['judgeTier2'] ?? [], p50: 15_000, p95: 30_000 },
    { part: 'approved to published', ms: publishMs, p50: 5_000, p95: 10_000 },
    { part: 'end to end', ms: settled.map((each) => each.ms), p50: 30_000, p95: 60_000 },
  ];
}

export interface Part {
  part: string;
  /** Of the mean submission. */
  meanMs: number;
}

/** Where the time of a submission goes, the largest first. What is in no stage is the way between them: Temporal, and waiting
 *  for a free worker. */
export function partsOf({ settled, stageMs, startMs, items }: LoadReport): Part[] {
  const perItem = (all: readonly number[]): number => all.reduce((sum, each) => sum + each, 0) / items;
  const stages = Object.entries(stageMs).map(([part, all]) => ({ part, meanMs: perItem(all) }));
  const start = { part: 'waiting for the first stage', meanMs: perItem(startMs) };
  const inStages = stages.reduce((sum, { meanMs }) => sum + meanMs, start.meanMs);
  const between = { part: 'between stages', meanMs: perItem(settled.map((each) => each.ms)) - inStages };
  return [...stages, start, between].toSorted((one, other) => other.meanMs - one.meanMs);
}

export function linesOfLoad(report: LoadReport): string[] {
  const { items, inFlight, seconds, perSecond, failedAttempts, rescues, scanMs } = report;
  const promises = promisesOf(report).map(({ part, ms, p50, p95 }) => [
    ...[part, ms.length, measured(ms, 0.5, p50), measured(ms, 0.95, p95)],
  ]);
  const parts = partsOf(report).map(({ part, meanMs }) => [...[part, meanMs.toFixed(0), ...quantilesOf(report, part)]]);
  const [slowest] = partsOf(report);
  return [
    ...textTable(['promised', 'measured', 'p50 ms', 'p95 ms'], promises),
    '',
    ...textTable(['where the time goes', 'mean ms a submission', 'p50 ms', 'p95 ms'], parts),
    `slowest part: ${slowest?.part ?? 'none'}`,
    `the scanner itself: p50 ${quantile(scanMs, 0.5).toFixed(0)} ms, p95 ${quantile(scanMs, 0.95).toFixed(0)} ms`,
    `${String(items)} submissions, at most ${String(inFlight)} on their way, in ${seconds.toFixed(1)} s: ${perSecond.toFixed(2)} a second; ` +
      `${String(rescues)} rescues`,
    ...Object.entries(failedAttempts).map(([what, count]) => `did not end well: ${what}, ${String(count)} times`),
  ];
}

function measured(ms: readonly number[], q: number, limit: number): string {
  const value = quantile(ms, q);
  return `${value.toFixed(0)} (under ${String(limit)}, ${value < limit ? 'met' : 'MISSED'})`;
}

function quantilesOf({ stageMs, startMs }: LoadReport, part: string): string[] {
  const all = part === 'waiting for the first stage' ? startMs : stageMs[part];
  return all ? [quantile(all, 0.5).toFixed(0), quantile(all, 0.95).toFixed(0)] : ['', ''];
}
