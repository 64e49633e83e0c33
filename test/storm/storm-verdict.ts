import type { Config } from '../../src/config.js';
import type { BreakerSettings } from '../../src/core/breaker.js';
import { msOf } from '../../src/core/span.js';
import type { StormReport } from './storm-run.js';

/** Of the installation. */
const WORKERS = 2;

/** The fastest pace before it closes is 16 a second: 1, 2, 4, 8, 16; with 32 it would pass 20. A second of the clock may see the
 *  places of two. */
const PEAK_PER_SECOND = 2 * 16;

/** What an outage must not cost. An attempt may fail as one of those that open the breaker, because it was at work when that
 *  happened, or because it was let through to try: everything else is a failure too many. */
export function stormFindings(
  report: StormReport,
  items: number,
  { breaker, worker }: Pick<Config, 'breaker' | 'worker'>,
): string[] {
  const {
    shown,
    toOpen,
    early,
    inFlight,
    later,
    mostOfAnItem,
    peakPerSecond,
    done,
    effects,
    failedItems,
    rescues,
    receipts,
  } = report;
  const probes = probesIn(breaker, report.openInVainMs);
  const checks: [ok: boolean, what: string][] = [
    // Nothing succeeds at that stage meanwhile, so the share is reached as soon as the count is. A worker looks after its commit:
    // attempts that fail at the same moment are counted too, and `early` shows that the breaker did not wait for them.
    [toOpen >= breaker.failures, `it opened after ${toOpen} failures, not ${breaker.failures}`],
    [early < breaker.failures, `${String(early)} had failed before, and it was not open`],
    [inFlight >= 0 && inFlight <= WORKERS * worker.maxActivities, `${String(inFlight)} were at work when it opened`],
    [later <= probes, `${String(later)} failed that began later, and ${String(probes)} were to be let through`],
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

/** How many are let through in that time: the first after a wait, and each next one after twice the wait before. */
function probesIn({ probeAfter, probeMax }: BreakerSettings, openMs: number): number {
  let waitMs = msOf(probeAfter);
  let probes = 0;
  for (let at = waitMs; at <= openMs; at += waitMs) {
    probes += 1;
    waitMs = Math.min(msOf(probeMax), 2 * waitMs);
  }
  return probes;
}

function isDegraded(health: unknown): boolean {
  const { status, parts } = health as { status?: string; parts?: { breakers?: { status?: string } } };
  return status === 'degraded' && parts?.breakers?.status === 'away';
}

export function linesOfStorm(report: StormReport): string[] {
  const { failures, toOpen, inFlight, later, mostOfAnItem, startsBySecond, peakPerSecond, steadyPerSecond } = report;
  return [
    `down for ${report.outageSeconds.toFixed(1)} s; ${String(failures)} failures in all, at most ${String(mostOfAnItem)} of an item`,
    `${String(toOpen)} of them opened the breaker, ${String(inFlight)} were at work then, ${String(later)} were let through later`,
    `all done ${report.secondsToDone.toFixed(1)} s after it was back, breaker closed after ${report.secondsToClosed.toFixed(1)} s`,
    `starts in each second after healing: ${startsBySecond.join(' ')}`,
    `peak ${String(peakPerSecond)} over steady ${steadyPerSecond.toFixed(1)} is ${(peakPerSecond / steadyPerSecond).toFixed(1)}`,
    `${String(report.rescues)} rescues, ${String(report.failedItems)} failed, ${String(report.receipts)} receipts`,
  ];
}
