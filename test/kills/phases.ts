import { setTimeout as delay } from 'node:timers/promises';
import { countRunningOn } from '../audit/facts.js';
import { LANES } from '../audit/ledger.js';
import { countRuns } from '../audit/runs.js';
import type { Installation, PartName } from '../support/installation.js';
import { until } from '../support/until.js';

/** What a phase has to work with. */
export interface Battlefield {
  installation: Installation;
  owner: string;
  /** How many canaries the run keeps in flight. */
  size: number;
  /** From 0 up to 1, repeatable by the run's seed. */
  random(): number;
  /** Canaries that are submitted while the fault is there. */
  submit(count: number, copies?: number): Promise<void>;
}

export interface Phase {
  name: string;
  /** Does the damage and undoes it; says what was killed. The parts may still be on their way back. */
  strike(field: Battlefield): Promise<string>;
}

/** In this order, each while work is in flight. */
export const PHASES: readonly Phase[] = [
  { name: 'worker 1', strike: (field) => killWorker(field, 'worker-1') },
  { name: 'worker 2', strike: (field) => killWorker(field, 'worker-2') },
  { name: 'API between insert and start', strike: killBetweenInsertAndStart },
  { name: 'API while it is asked', strike: killWhileAsked },
  { name: 'Postgres', strike: ({ installation }) => kill(installation, 'postgres') },
  { name: 'Temporal', strike: ({ installation }) => kill(installation, 'temporal') },
  { name: 'everything at once', strike: killAll },
];

const SOON_MS = 30_000;

async function kill(installation: Installation, name: PartName): Promise<string> {
  return `${name} (pid ${String(await installation.kill(name))})`;
}

/** Kills it in the thick of its work. */
async function killWorker({ installation, size }: Battlefield, name: 'worker-1' | 'worker-2'): Promise<string> {
  const wanted = Math.ceil(size / 40);
  const isBusy = async () => {
    const attempts = await countRunningOn(installation.pool, name);
    return attempts >= wanted ? attempts : null;
  };
  const attempts = await until(`${name} is at work`, isBusy, SOON_MS);
  return `${await kill(installation, name)} with ${String(attempts)} attempts`;
}

/** The rows are there, the calls that start their runs hang on the wire and never arrive, and the API dies. */
async function killBetweenInsertAndStart(field: Battlefield): Promise<string> {
  const { installation, size, submit } = field;
  const wire = installation.wires.apiToTemporal;
  const count = Math.ceil(size / 4);
  const before = new Set(await unstartedIds(field));
  const caughtIds = async () => (await unstartedIds(field)).filter((id) => !before.has(id));
  // As many as the client sends side by side: each of these requests hangs.
  const isIn = async () => (await caughtIds()).length >= Math.min(count, LANES) || null;
  wire.stall();
  try {
    const submitted = submit(count);
    await until('canaries are inserted and not started', isIn, SOON_MS);
    const pid = await installation.kill('api');
    // What the dead API had sent and the wire still holds must not arrive after all.
    wire.cut();
    await submitted;
    const caught = await caughtIds();
    const runs = await countRuns(installation.temporalAddress, caught);
    if (runs > 0) throw new Error(`${String(runs)} runs were started over a wire that was cut`);
    return `api (pid ${String(pid)}) with ${String(caught.length)} rows and no run`;
  } finally {
    wire.heal();
  }
}

async function unstartedIds({ installation, owner }: Battlefield): Promise<string[]> {
  const { rows } = await installation.pool.query<{ id: string }>(
    'SELECT id FROM items WHERE owner = $1 AND NOT started AND ended_at IS NULL',
    [owner],
  );
  return rows.map((each) => each.id);
}

/** How often the API is killed while requests keep coming. */
const KILLS = 3;

/** A kill comes at any moment of this time after the API is back: from its first requests to when it is warm. */
const MOMENT_MS = 500;

/** Every request is sent twice at once, with one key, and repeated until it is answered. */
async function killWhileAsked({ installation, random, submit }: Battlefield): Promise<string> {
  const stream = { isWanted: true };
  async function keepAsking(): Promise<void> {
    while (stream.isWanted) await submit(LANES, 2);
  }
  const asking = keepAsking();
  const pids: number[] = [];
  try {
    while (pids.length < KILLS) {
      await delay(random() * MOMENT_MS);
      const pid = await installation.kill('api');
      pids.push(pid);
      await installation.backFrom('api', pid);
    }
  } finally {
    stream.isWanted = false;
    await asking;
  }
  return `api ${String(pids.length)} times (pids ${pids.join(', ')})`;
}

/** A power cut, as far as processes can tell. */
async function killAll({ installation }: Battlefield): Promise<string> {
  const names: PartName[] = ['postgres', 'temporal', 'api', 'worker-1', 'worker-2'];
  const pids = await Promise.all(names.map((name) => installation.kill(name)));
  return `all 5 (pids ${pids.join(', ')})`;
}
