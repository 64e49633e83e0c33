import { inject } from 'vitest';
import type { Pipeline } from '../../src/core/pipeline.js';
import { workflowBundle } from './bundle.js';
import { spawnWorker, type WorkerChild } from './spawn-worker.js';

/** A worker in a process of its own, on the servers of the run. */
export async function startWorkerChild(
  databaseUrl: string,
  table: Pipeline,
  directUrl = databaseUrl,
): Promise<WorkerChild> {
  const { codePath } = await workflowBundle();
  return spawnWorker({ databaseUrl, directUrl, temporalAddress: inject('temporalAddress'), table, codePath });
}
