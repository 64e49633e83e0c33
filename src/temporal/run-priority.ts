import { createHash } from 'node:crypto';
import type { Priority } from '@temporalio/common';
import { priorityKeyOf } from '../core/priority.js';
import type { RunStart } from '../core/run.js';

/** 128 bits keep two owners apart. Temporal refuses a key of more than 64 bytes when a run starts, and an owner may be longer. */
const HEX_DIGITS = 32;

/** The run's place among runs that wait for a worker: levels go one after the other, and the owners of a level take turns. The run's
 *  activities inherit both keys. */
export function runPriorityOf({ owner, priority }: Pick<RunStart, 'owner' | 'priority'>): Priority {
  const fairnessKey = createHash('sha256').update(owner).digest('hex').slice(0, HEX_DIGITS);
  return { priorityKey: priorityKeyOf(priority), fairnessKey };
}
