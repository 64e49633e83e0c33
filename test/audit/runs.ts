import { Client, Connection, WorkflowNotFoundError } from '@temporalio/client';
import { until } from '../support/until.js';

/** Asks Temporal itself, past every wire of the installation. */
export async function withTemporal<T>(address: string, ask: (client: Client) => Promise<T>): Promise<T> {
  const connection = await Connection.connect({ address });
  try {
    return await ask(new Client({ connection }));
  } finally {
    await connection.close();
  }
}

/** How many of these canaries have a run, be it over. */
export async function countRuns(address: string, ids: readonly string[]): Promise<number> {
  return withTemporal(address, async (client) => {
    const found = await Promise.all(ids.map((id) => hasRun(client, `canary:${id}:1`)));
    return found.filter(Boolean).length;
  });
}

async function hasRun(client: Client, workflowId: string): Promise<boolean> {
  try {
    await client.workflow.getHandle(workflowId).describe();
    return true;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

/** A run ends right after its item, and what is listed lags a little behind. */
const ENDS_WITHIN_MS = 20_000;

/** How many runs stay open although every item has ended. */
export async function countOpenRuns(address: string): Promise<number> {
  return withTemporal(address, async (client) => {
    const open = async () => (await client.workflow.count(`ExecutionStatus = 'Running'`)).count;
    const isNone = async () => (await open()) === 0 || null;
    return until('every run has ended', isNone, ENDS_WITHIN_MS).then(() => 0, open);
  });
}
