import { randomUUID } from 'node:crypto';
import type { Client, WorkflowHandle } from '@temporalio/client';
import type pg from 'pg';
import { until } from '../support/until.js';

/** Sweeps that a tester starts, beside the schedule's own: as many at once as wanted. */
export interface Sweeps {
  /** Comes back when it has written its row. */
  begin(): Promise<Sweep>;
  /** From beginning to end. */
  sweep(): Promise<void>;
  hasEnded(sweep: Sweep): Promise<boolean>;
  isTimeUp(sweep: Sweep): Promise<boolean>;
  executionOf(sweep: Sweep): Promise<Execution | undefined>;
  /** The processes in which one of these sweeps saw that many items, and got an answer about them. */
  whoSaw(sweeps: readonly Sweep[], items: number): Promise<Set<string>>;
}

export interface Sweep {
  handle: WorkflowHandle;
  runId: string;
}

interface Execution {
  status: string;
  examined: number;
  errors: string[];
}

/** As the canary's schedule gives them. */
const RUN_TIMEOUT_MS = 9_000;
const RESCUES = 100;

export function createSweeps(client: Client, pool: pg.Pool): Sweeps {
  async function start(): Promise<Sweep> {
    const handle = await client.workflow.start('sweep', {
      workflowId: `sweep-by-hand-${randomUUID()}`,
      taskQueue: 'maintenance',
      args: [{ pipeline: 'canary', rescues: RESCUES }],
      workflowRunTimeout: RUN_TIMEOUT_MS,
      workflowTaskTimeout: 3_000,
    });
    return { handle, runId: handle.firstExecutionRunId };
  }

  async function hasEnded({ handle }: Sweep): Promise<boolean> {
    return (await handle.describe()).status.name !== 'RUNNING';
  }

  async function executionOf({ runId }: Sweep): Promise<Execution | undefined> {
    const { rows } = await pool.query<Execution>(
      `SELECT status, COALESCE((result ->> 'examined')::int, 0) AS examined, errors FROM job_executions WHERE run_id = $1`,
      [runId],
    );
    return rows[0];
  }

  return {
    executionOf,
    hasEnded,
    async begin() {
      const sweep = await start();
      await until('the sweep has begun', async () => (await executionOf(sweep)) !== undefined || hasEnded(sweep));
      return sweep;
    },
    async sweep() {
      const sweep = await start();
      await until('the sweep has ended', () => hasEnded(sweep));
    },
    async isTimeUp({ runId }) {
      const text = 'SELECT 1 FROM job_executions WHERE run_id = $1 AND timeout_at < now()';
      return (await pool.query(text, [runId])).rows.length > 0;
    },
    async whoSaw(sweeps, items) {
      const seen = new Set<string>();
      for (const sweep of sweeps) {
        await until('the sweep has ended', () => hasEnded(sweep));
        const execution = await executionOf(sweep);
        if (execution?.examined === items && execution.errors.length === 0) seen.add(await workerOf(sweep));
      }
      return seen;
    },
  };
}

/** Which process worked on its first page. */
async function workerOf({ handle }: Sweep): Promise<string> {
  const { events } = await handle.fetchHistory();
  const page = events?.find((each) => each.activityTaskScheduledEventAttributes?.activityType?.name === 'sweepPage');
  const started = events?.find((each) =>
    each.activityTaskStartedEventAttributes?.scheduledEventId?.eq(page?.eventId ?? -1),
  );
  return started?.activityTaskStartedEventAttributes?.identity ?? 'nobody';
}
