import type { Kind, OutageReport } from './temporal-away.js';

/** While Temporal is away, an item that is still in its stage may say so instead. */
const ALLOWED: Partial<Record<Kind, readonly string[]>> = { inStage: ['engine_unreachable', 'running'] };

/** What an outage of Temporal cost besides its time, and what the run has failed to show; none: it cost nothing. `ofEachKind` is
 *  how many items there were of each. */
export function outageFindings(report: OutageReport, ofEachKind: number): string[] {
  const { items, done, health, reasons, longStages, finished, finishedAgain } = report;
  const kinds = Object.keys(reasons) as Kind[];
  const { doubled, missing, rescues, restarted, errors, crashes, openReceipts } = report;
  const { engine_unreachable: givenBack = 0, start_lost: started = 0, ...others } = report.receipts;
  const interrupted = longStages.filter(({ attempt }) => attempt > 1);
  const fromTheBeginning = interrupted.filter(({ lastMs, ofMs }) => lastMs >= ofMs);
  const checks: [ok: boolean, what: string][] = [
    [items === kinds.length * ofEachKind, `${String(items)} items of ${String(kinds.length)} kinds were there`],
    [done === items, `${String(done)} of ${String(items)} are done`],
    [health === 'degraded', `health said ${health}`],
    ...kinds.map((kind): [boolean, string] => [isAllowed(kind, reasons[kind]), `${kind} said ${reasons[kind].join()}`]),
    ...Object.entries({ doubled, missing, rescues, restarted, errors, crashes, openReceipts }).map(
      ([name, count]): [boolean, string] => [count === 0, `${name}: ${String(count)}`],
    ),
    [Object.keys(others).length === 0, `other receipts: ${JSON.stringify(others)}`],
    // What was submitted meanwhile is started by the dispatcher or by a sweep, whichever comes first; a sweep leaves a receipt.
    [started <= ofEachKind, `${String(started)} starts were made up for`],
    // What was taken from a worker that lived has a receipt that says so.
    [givenBack === report.givenBack, `${String(report.givenBack)} were given back, with ${String(givenBack)} receipts`],
    [report.givenBack > 0, 'no stage was given back'],
    [finishedAgain.length === 0, `begun again although done: ${finishedAgain.join(', ')}`],
    [finished > items, `only ${String(finished)} tasks were done before Temporal came back`],
    [longStages.length === ofEachKind, `${String(longStages.length)} long stages were done`],
    // One that the SDK lets go on until it is done is as good; but if all are, no checkpoint was needed.
    [interrupted.length > 0, 'no long stage was interrupted'],
    // From its checkpoint it takes less than from the beginning.
    [fromTheBeginning.length === 0, `${String(fromTheBeginning.length)} long stages were run from the beginning`],
  ];
  return checks.filter(([ok]) => !ok).map(([, what]) => what);
}

function isAllowed(kind: Kind, said: readonly string[]): boolean {
  const allowed = ALLOWED[kind] ?? ['engine_unreachable'];
  return said.length > 0 && said.every((reason) => allowed.includes(reason));
}
