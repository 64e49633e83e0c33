import { type Finding, reportOk, reportProblem } from './check.js';

/** Tokens allow five seconds, and times of different machines stand side by side in logs and timelines. */
const MAX_SKEW_MS = 2_000;

/** Another clock, read between two looks at our own. */
export interface ClockReading {
  beforeMs: number;
  theirsMs: number;
  afterMs: number;
}

/** Compares the clocks by their least possible difference. The time that the answer took on its way is not counted as a
 *  difference. */
export function clockFinding(whose: string, { beforeMs, theirsMs, afterMs }: ClockReading): Finding {
  const aheadMs = Math.round(theirsMs - (beforeMs + afterMs) / 2);
  const doubtMs = (afterMs - beforeMs) / 2;
  if (Math.abs(aheadMs) - doubtMs <= MAX_SKEW_MS) return reportOk(`The clock of ${whose} agrees with ours within 2 s.`);
  const by = `${(Math.abs(aheadMs) / 1000).toFixed(1)} s ${aheadMs > 0 ? 'ahead of' : 'behind'} ours`;
  return reportProblem(`The clock of ${whose} is ${by}.`, 'Let both machines set their clocks by NTP.');
}
