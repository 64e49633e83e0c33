import { Client, Connection } from '@temporalio/client';
import { inLanes } from '../audit/ledger.js';
import { historyOf } from '../support/history.js';
import type { Installation } from '../support/installation.js';
import { eventsOf, type Recording } from '../support/recording.js';
import { PATCH } from './changes.js';
import type { FailedTask } from './wedged.js';

/** As many as tell: each is replayed twice. */
const RECORDED = 30;

export interface Histories {
  /** Runs that began as the new version does, and that went to their end as the old one did. */
  marked: number;
  unmarked: number;
  /** Workflow tasks that a worker could not do: an old one that was given a run of the new version. */
  failedTasks: number;
}

async function eachHistory(
  { temporalAddress }: Installation,
  ids: readonly string[],
  see: (id: string, history: Awaited<ReturnType<typeof historyOf>>) => void,
): Promise<void> {
  const connection = await Connection.connect({ address: temporalAddress });
  const client = new Client({ connection });
  try {
    await inLanes([...ids], async (id) => see(id, await historyOf(client, { workflowId: `canary:${id}:1` })));
  } finally {
    await connection.close();
  }
}

/** Histories of runs that are on their way and have begun a stage. */
export async function recordRunning(installation: Installation): Promise<Recording[]> {
  const { rows } = await installation.pool.query<{ id: string }>(
    `SELECT DISTINCT i.id FROM items i JOIN tasks t ON t.item_id = i.id WHERE i.ended_at IS NULL LIMIT $1`,
    [RECORDED],
  );
  const recordings: Recording[] = [];
  const ids = rows.map(({ id }) => id);
  await eachHistory(installation, ids, (id, { json }) => {
    recordings.push({ name: id, workflowId: `canary:${id}:1`, history: json });
  });
  return recordings;
}

export async function readHistories(
  installation: Installation,
  ids: readonly string[],
): Promise<{ histories: Histories; failedTasks: FailedTask[] }> {
  const histories: Histories = { marked: 0, unmarked: 0, failedTasks: 0 };
  const failedTasks: FailedTask[] = [];
  await eachHistory(installation, ids, (itemId, { json }) => {
    const isMarked = hasPatch(json);
    if (isMarked) histories.marked += 1;
    else histories.unmarked += 1;
    failedTasks.push(...failuresIn(json).map((each) => ({ ...each, itemId, isMarked })));
  });
  return { histories: { ...histories, failedTasks: failedTasks.length }, failedTasks };
}

interface Failed {
  identity?: string;
  cause?: string;
  failure?: { message?: string };
}

/** Something that came while a worker answered: Temporal has it answer again, which is nobody's fault. */
const OVERTAKEN = 'WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND';

function failuresIn(history: unknown): Pick<FailedTask, 'worker' | 'message'>[] {
  return eventsOf({ history }).flatMap((event) => {
    const failed = event['workflowTaskFailedEventAttributes'] as Failed | undefined;
    if (!failed || failed.cause === OVERTAKEN) return [];
    return [{ worker: failed.identity ?? '', message: failed.failure?.message ?? String(failed.cause) }];
  });
}

function hasPatch(history: unknown): boolean {
  return eventsOf({ history }).some((event) => {
    const marker = event['markerRecordedEventAttributes'] as { markerName?: string; details?: unknown } | undefined;
    return marker?.markerName === 'core_patch' && namesIn(marker.details).includes(PATCH);
  });
}

/** The details of a marker are payloads: JSON in base 64. */
function namesIn(details: unknown): string {
  return JSON.stringify(details).replace(/"data":"([^"]*)"/g, (_, data: string) => {
    return Buffer.from(data, 'base64').toString();
  });
}
