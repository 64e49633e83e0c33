import { sleep } from '@temporalio/workflow';
import type { RunInput } from '../../src/core/run.js';
import { runItem } from '../../src/workflows/run-item.js';

/** A version of the workflow that does one thing more at its beginning and forgot `patched()`: it walks new items, and can't
 *  replay the history of any that is on its way. */
async function unfitRunItem(input: RunInput): Promise<string> {
  await sleep(1);
  return runItem(input);
}

export { unfitRunItem as 'run-item' };
