import type { StormReport } from './storm-run.js';

/** Half of the last fifty attempts. */
const FAILURES_TO_OPEN = 25;

/** Attempts of one process, and there are two: what was in flight when it opened may fail too. */
const IN_FLIGHT = 2 * 100;

/** The fastest pace before it closes is 16 a second: 1, 2, 4, 8, 16; with 32 it would pass 20. A second of the clock may see the
 *  places of two. */
const PEAK_PER_SECOND = 2 * 16;

/** What an outage must not cost. */
export function stormFindings(report: StormReport, items: number): string[] {
  const { shown, failures, mostOfAnItem, peakPerSecond, done, effects, failedItems, rescues, receipts } = report;
  const inFlight = Math.min(IN_FLIGHT, items / 2);
  const checks: [ok: boolean, what: string][] = [
    [failures <= FAILURES_TO_OPEN + inFlight, `${String(failures)} attempts failed`],
    [mostOfAnItem < 3, `an item spent ${String(mostOfAnItem)} of its three tries`],
    [done === items, `${String(done)} of ${String(items)} are done`],
    [effects === items, `${String(effects)} effects of ${String(items)} items`],
    [failedItems === 0, `${String(failedItems)} items failed`],
    [rescues === 0, `${String(rescues)} rescues were spent`],
    [receipts === 0, `${String(receipts)} receipts of an outage that stopped nobody`],
    [peakPerSecond <= PEAK_PER_SECOND, `${String(peakPerSecond)} starts in one second`],
    [report.workers === 2, `${String(report.workers)} workers took part`],
    [report.breakerEvents === 2, `${String(report.breakerEvents)} events of the breaker, not opened and closed`],
    [isDegraded(shown.health), `health said ${JSON.stringify(shown.health)}`],
  ];
  return checks.filter(([ok]) => !ok).map(([, what]) => what);
}

function isDegraded(health: unknown): boolean {
  const { status, parts } = health as { status?: string; parts?: { breakers?: { status?: string } } };
  return status === 'degraded' && parts?.breakers?.status === 'away';
}

export function linesOfStorm(report: StormReport): string[] {
  const { failures, mostOfAnItem, startsBySecond, peakPerSecond, steadyPerSecond } = report;
  return [
    `down for ${report.outageSeconds.toFixed(1)} s; ${String(failures)} failures in all, at most ${String(mostOfAnItem)} of an item`,
    `all done ${report.secondsToDone.toFixed(1)} s after it was back, breaker closed after ${report.secondsToClosed.toFixed(1)} s`,
    `starts in each second after healing: ${startsBySecond.join(' ')}`,
    `peak ${String(peakPerSecond)} over steady ${steadyPerSecond.toFixed(1)} is ${(peakPerSecond / steadyPerSecond).toFixed(1)}`,
    `${String(report.rescues)} rescues, ${String(report.failedItems)} failed, ${String(report.receipts)} receipts`,
  ];
}
