import type { Client } from '@temporalio/client';
import { isForeign, type Membership, nameIn, plainNameIn } from '../core/installation.js';
import { type RunRef, workflowIdOf } from '../core/run.js';
import type { IndexedRun } from '../ports/engine.js';

/** Finds runs in Temporal's search index by one query. A run that has continued as new is left out: the run that goes on has the same
 *  id, and may be listed a moment later. A person may have reset a run: then the run that was started last counts. A run of another
 *  installation is left out. */
export async function findIndexedRuns(
  client: Client,
  runs: readonly RunRef[],
  own: Membership,
): Promise<Map<string, IndexedRun>> {
  const found = new Map<string, IndexedRun>();
  if (runs.length === 0) return found;
  const ids = runs.map((run) => `"${nameIn(own.name, workflowIdOf(run))}"`).join(', ');
  const query = `WorkflowId IN (${ids}) AND ExecutionStatus != "ContinuedAsNew"`;
  const startedAt = new Map<string, number>();
  for await (const { workflowId: name, status, startTime, memo } of client.workflow.list({ query, pageSize: PAGE })) {
    const workflowId = plainNameIn(own.name, name) ?? name;
    if (isForeign(memo, own.id()) || startTime.getTime() < (startedAt.get(workflowId) ?? 0)) continue;
    startedAt.set(workflowId, startTime.getTime());
    found.set(workflowId, status.name === 'RUNNING' ? { is: 'alive' } : { is: 'gone', how: status.name.toLowerCase() });
  }
  return found;
}

/** All runs of a page of a list, and those that were reset, come in one answer. */
const PAGE = 1_000;
