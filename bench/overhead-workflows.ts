import { proxyActivities } from '@temporalio/workflow';
import type { BareActivities } from './overhead-worker.js';

export { runItem as 'run-item' } from '../src/workflows/run-item.js';

const { one, two, three } = proxyActivities<BareActivities>({ startToCloseTimeout: '1m', heartbeatTimeout: '2s' });

/** What people write without us: three activities in a row, each with one insert. */
export async function bare(id: string): Promise<void> {
  await one(id);
  await two(id);
  await three(id);
}
