import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { bundleWorkflowCode } from '@temporalio/worker';
import { v7 as uuidv7 } from 'uuid';
import type { Pipeline } from '../src/core/pipeline.js';
import { workflowIdOf } from '../src/core/run.js';
import { createPool } from '../src/db/postgres/client.js';
import { migrate } from '../src/db/postgres/migrate.js';
import { createItem } from '../src/db/spine/items.js';
import { canaryRow } from '../src/domains/canary/db/canaries.js';
import { createTemporalEngine } from '../src/temporal/engine.js';
import { OVERHEAD_PIPELINES } from './overhead-pipelines.js';

const IN_FLIGHT = 50;
const WORKERS = 2;

/** A worker lives for days: its first seconds, of cold code and cold connections, are not what is asked about. */
export const WARM_UP = 500;

export type Kind = 'bare' | 'ordinary' | 'short';

export interface SideOptions {
  databaseUrl: string;
  /** Temporal's. */
  address: string;
  /** Two sides on one server take two namespaces, because task queues are named after the pipelines. */
  namespace?: string;
  /** For the bundle of the workflows. */
  folder: string;
  /** Called in reverse order at the end. */
  stops: (() => Promise<void> | void)[];
}

/** The code of one tree at work: its tables in a database of its own, its workers, and a client that runs items. */
export interface Side {
  items: Record<Kind, () => Promise<void>>;
  workerPids: number[];
  assertEffects(perKind: number): Promise<void>;
}

export async function openSide(options: SideOptions): Promise<Side> {
  const { databaseUrl, address, namespace = 'default', folder, stops } = options;
  await migrate(databaseUrl, join(import.meta.dirname, '../prisma/migrations'));
  const pool = createPool({ url: databaseUrl, size: 10, name: 'bench' });
  stops.push(() => pool.end());
  await pool.query(
    'CREATE TABLE bare_effects (id bigserial PRIMARY KEY, item_id uuid, stage text, at timestamptz DEFAULT now())',
  );

  const codePath = join(folder, 'bundle.js');
  writeFileSync(codePath, (await bundle()).code);
  const workerFile = compiledWorker();
  const workers = await Promise.all(
    Array.from({ length: WORKERS }, async (_, n) => {
      const args = [databaseUrl, address, codePath, `bench-${String(n + 1)}`, namespace];
      const worker = fork(workerFile, args, { execArgv: [] });
      await once(worker, 'message');
      return worker;
    }),
  );
  stops.push(() => {
    workers.forEach((worker) => {
      worker.disconnect();
    });
  });

  const connection = await Connection.connect({ address });
  stops.push(() => connection.close());
  const client = new Client({ connection, namespace });
  const engine = createTemporalEngine(client);

  // Waited for by its id, as ours is: a handle that knows its run spares the server a look.
  async function bareItem(): Promise<void> {
    const id = uuidv7();
    const workflowId = `bare:${id}`;
    await client.workflow.start('bare', { workflowId, taskQueue: 'bare', args: [id] });
    await client.workflow.getHandle(workflowId).result();
  }
  async function ourItem(pipeline: Pipeline): Promise<void> {
    const actor = { id: 'bench', type: 'user' } as const;
    const row = canaryRow({ stageMs: [0, 0, 0], units: 0, decision: false, faults: [] });
    const created = await createItem(pool, pipeline, { owner: 'bench', actor, trigger: 'bench', row });
    if (!created.created || !created.run) throw new Error('a new item wants a run');
    await engine.start(created.run);
    await client.workflow.getHandle(workflowIdOf(created.run)).result();
  }
  const [ordinary, short] = OVERHEAD_PIPELINES as [Pipeline, Pipeline];
  return {
    items: { bare: bareItem, ordinary: () => ourItem(ordinary), short: () => ourItem(short) },
    workerPids: workers.map((worker) => worker.pid ?? 0),
    assertEffects: (perKind) => assertEffects(pool, perKind),
  };
}

export async function manyAtOnce(count: number, item: () => Promise<void>): Promise<void> {
  let left = count;
  async function lane(): Promise<void> {
    while (left > 0) {
      left -= 1;
      await item();
    }
  }
  await Promise.all(Array.from({ length: Math.min(IN_FLIGHT, count) }, lane));
}

/** A benchmark of work that was lost or doubled would measure nothing. */
async function assertEffects(pool: ReturnType<typeof createPool>, perKind: number): Promise<void> {
  const { rows } = await pool.query<{ pipeline: string; items: number; effects: number }>(
    `SELECT pipeline, count(DISTINCT i.id)::int AS items, count(e.id)::int AS effects
     FROM items i LEFT JOIN canary_effects e ON e.item_id = i.id WHERE i.state = 'DONE' GROUP BY pipeline`,
  );
  if (rows.length !== OVERHEAD_PIPELINES.length) throw new Error(`only ${String(rows.length)} of our kinds were done`);
  for (const row of rows) {
    if (row.items !== perKind || row.effects !== 3 * perKind) {
      throw new Error(
        `${row.pipeline}: ${String(row.items)} items and ${String(row.effects)} effects instead of ${String(perKind)} and ${String(3 * perKind)}`,
      );
    }
  }
}

/** As in production: compiled beforehand. A loader in the worker maps the stack of every promise that a workflow makes, which
 *  costs more than what is to be measured. */
function compiledWorker(): string {
  const root = join(import.meta.dirname, '..');
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  execFileSync(process.execPath, [compiler, '-p', join(import.meta.dirname, 'tsconfig.json')], { stdio: 'inherit' });
  return join(root, 'node_modules/.cache/unstuck-bench/bench/overhead-worker.js');
}

async function bundle() {
  return bundleWorkflowCode({
    workflowsPath: join(import.meta.dirname, 'overhead-workflows.ts'),
    webpackConfigHook: (config) => ({
      ...config,
      resolve: { ...config.resolve, extensionAlias: { '.js': ['.ts', '.js'] } },
    }),
  });
}
