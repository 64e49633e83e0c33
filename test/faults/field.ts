import { Client, Connection, WorkflowNotFoundError } from '@temporalio/client';
import type { ItemAnswer } from '../../src/api/items/item-schema.js';
import { workflowIdOf } from '../../src/core/run.js';
import { type Caller, callerOf } from '../e2e/caller.js';
import { itemOf, taskOf } from '../support/facts.js';
import type { Installation } from '../support/installation.js';
import { until } from '../support/until.js';
import { SWEEP_MS } from './settings.js';

/** What a list says of an item. */
export interface ListLine {
  list: string;
  diagnosis: Pick<ItemAnswer['diagnosis'], 'reason' | 'sentence' | 'nextAt'>;
  swept: { reason: string } | null;
}

/** An installation and all that a tester needs to break it and to know by its own means what is broken. */
export interface Field {
  installation: Installation;
  admin: Caller;
  temporal: Client;
  /** The whole answer of the public API. */
  item(id: string): Promise<ItemAnswer>;
  /** The lines of the item in the list, and in the stuck list if it is stuck. */
  lines(id: string): Promise<ListLine[]>;
  /** Submits a canary and comes back when a worker runs that stage of it. */
  running(stage: string, canary: object): Promise<string>;
  /** How the run of the item's present epoch stands, as Temporal itself says. */
  runOf(id: string): Promise<{ status: string; handle: ReturnType<Client['workflow']['getHandle']> }>;
  /** How many of the item's tasks are running, by its rows. */
  runningTasks(id: string): Promise<number>;
  /** Whether a sweep of the item's pipeline has begun and ended after that moment. */
  sweptSince(id: string, at: number): Promise<boolean>;
  /** By the database's clock. */
  now(): Promise<Date>;
  one<Row extends object>(text: string, values: unknown[]): Promise<Row | undefined>;
  close(): Promise<void>;
}

export async function openField(installation: Installation): Promise<Field> {
  const { pool, temporalAddress } = installation;
  const admin = await callerOf(installation, 'root', ['admin']);
  const connection = await Connection.connect({ address: temporalAddress });
  const temporal = new Client({ connection });

  async function one<Row extends object>(text: string, values: unknown[]): Promise<Row | undefined> {
    return (await pool.query<Row>(text, values)).rows[0];
  }

  return {
    installation,
    admin,
    temporal,
    one,
    async now() {
      const row = await one<{ now: Date }>('SELECT clock_timestamp() AS now', []);
      if (!row) throw new Error('the database does not know the time');
      return row.now;
    },
    async item(id) {
      const { status, body } = await admin.get(`/api/v1/items/${id}`);
      if (status !== 200) throw new Error(`item ${id} was answered ${String(status)}: ${JSON.stringify(body)}`);
      return body as unknown as ItemAnswer;
    },
    async lines(id) {
      const lists = [`/api/v1/items?q=${id}`, '/api/v1/stuck'];
      const answers = await Promise.all(lists.map((path) => admin.get(path)));
      return answers.flatMap(({ body }, at) => {
        const lines = body['items'] as (Omit<ListLine, 'list'> & { id: string })[];
        return lines.filter((each) => each.id === id).map((line) => ({ ...line, list: lists[at] ?? '' }));
      });
    },
    async running(stage, canary) {
      const id = await admin.submit(canary);
      const isRunning = async () => (await taskOf(pool, id, stage).catch(() => null))?.status === 'running';
      await until(`${stage} of ${id} runs`, isRunning);
      return id;
    },
    async runOf(id) {
      const { epoch } = await itemOf(pool, id);
      const handle = temporal.workflow.getHandle(workflowIdOf({ pipeline: 'canary', itemId: id, epoch }));
      return { handle, status: await statusOf(handle) };
    },
    async runningTasks(id) {
      const text = `SELECT count(*)::int AS n FROM tasks WHERE item_id = $1 AND status = 'running'`;
      return (await one<{ n: number }>(text, [id]))?.n ?? 0;
    },
    async sweptSince(id, at) {
      // No sweep lasts longer than from one to the next: one that ended this late began after that moment.
      const text = `SELECT 1 FROM job_executions j JOIN items i ON j.job = 'sweep-' || i.pipeline
        WHERE i.id = $1 AND j.status = 'completed' AND j.ended_at > $2`;
      return (await one(text, [id, new Date(at + SWEEP_MS)])) !== undefined;
    },
    close: () => connection.close(),
  };
}

async function statusOf(handle: ReturnType<Client['workflow']['getHandle']>): Promise<string> {
  try {
    return (await handle.describe()).status.name;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 'NONE';
    throw error;
  }
}
