import { stagesIn } from './machine.js';
import type { Pipeline } from './pipeline.js';
import { msOf } from './span.js';
import { DEFAULT_BEATS } from './step.js';

/** How long the stage may be silent before its worker counts as frozen. */
export function beatsMsOf(pipeline: Pipeline | undefined, state: string, stage: string): number {
  const row = pipeline?.states[state];
  const found = row && stagesIn(row).find((each) => each.stage === stage);
  return msOf(found?.beats ?? DEFAULT_BEATS);
}

/** A worker beats its task's row every half of the heartbeat timeout, and Temporal at least every quarter. When
 *  Temporal misses a beat of a dead or frozen worker, the row has been silent for at least three quarters; the row of a
 *  living worker has not. */
const LIVING_SHARE = 0.75;

/** The last signs of an attempt that never ended, from its row and the locks. */
export interface LastSign {
  isHeld: boolean;
  silentMs: number;
  /** The time since the claim. */
  ranMs: number;
}

/** Whether an attempt that Temporal has given up is alive all the same: its process holds its lock and beats its row.
 *  Then Temporal was away or out of reach, and the stage is not at fault. An attempt that Temporal gave up before a
 *  heartbeat could be missed has ended without reporting it. That counts as a crash, or the attempt would be repeated
 *  for ever. */
export function isAliveWithoutEngine({ isHeld, silentMs, ranMs }: LastSign, beatsMs: number): boolean {
  return isHeld && ranMs >= beatsMs && silentMs < LIVING_SHARE * beatsMs;
}
