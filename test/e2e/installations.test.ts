import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { projectRoot } from '../../src/config.js';
import { inTransaction } from '../../src/db/postgres/client.js';
import { ensureIdentity } from '../../src/db/postgres/installation.js';
import { createItem } from '../../src/db/spine/items.js';
import { canaryRow } from '../../src/domains/canary/db/canaries.js';
import { canary } from '../../src/domains/canary/table.js';
import { createApiClient } from '../../src/start/parts/api-client.js';
import { type Parts, startParts } from '../start/parts.js';
import { effectsOf, itemOf } from '../support/facts.js';
import { copyTestDatabase, createTestDatabase, type TestDatabase, visitDatabase } from '../support/postgres.js';
import { ADA } from '../support/spine.js';
import { until } from '../support/until.js';

/** Real processes of three installations in one namespace: the first; one with another database; one whose database is a copy of the
 *  first one's, with an item of the same id. Covers src/start/parts/admission.ts and src/start/installation.ts. */
const TIMEOUT_MS = 120_000;

let databases: Record<'first' | 'other' | 'copy', TestDatabase>;
let first: Parts;
/** In the first database and in its copy. It waits for a decision. */
let twin: string;
const started: Parts[] = [];

beforeAll(async () => {
  const database = await createTestDatabase();
  twin = await visitDatabase(database.url, async (pool) => {
    await ensureIdentity(pool);
    const row = canaryRow({ stageMs: [0, 0, 0], units: 0, decision: true, faults: [] });
    const item = { owner: 'ada', actor: ADA, trigger: 'submitted', row };
    return (await inTransaction(pool, (transaction) => createItem(transaction, canary, item))).id;
  });
  databases = { first: database, copy: await copyTestDatabase(database.url), other: await createTestDatabase() };
  first = await startParts({ workers: 1, database });
  started.push(first);
}, TIMEOUT_MS);
afterAll(async () => {
  for (const parts of started.toReversed()) await parts.stop();
  await Promise.all(Object.values(databases).map((each) => each.drop()));
}, TIMEOUT_MS);

/** Runs a process of ours to its end, in the namespace of the first installation. */
async function run(script: string, database: TestDatabase, ...args: string[]) {
  const env = { ...process.env, ...first.settings, DATABASE_URL: database.url, PORT: '9' };
  const child = spawn(process.execPath, [join(projectRoot, 'dist', 'start', script), ...args], { env });
  let [said, error] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (error += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, said, error };
}

async function idOf({ pool }: TestDatabase): Promise<string> {
  return (await ensureIdentity(pool)).id;
}

function callerOf({ url, token }: Parts) {
  const client = createApiClient({ name: 'test', url, token, whose: "an admin's" });
  return async (path: string, body: object): Promise<{ id?: string }> => {
    const response = await client.call('POST', `/api/v1/${path}`, body);
    const answer = (await response.json()) as { id?: string };
    expect(response.ok, JSON.stringify(answer)).toBe(true);
    return answer;
  };
}

async function reaches({ pool }: TestDatabase, id: string, state: string): Promise<void> {
  await until(`${id} is in ${state}`, async () => (await itemOf(pool, id)).state === state || null, 40_000);
}

async function sweepsOf({ pool }: TestDatabase): Promise<number> {
  const { rows } = await pool.query<{ n: number }>(
    `SELECT coalesce(sum(runs), 0)::int AS n FROM job_executions WHERE job = 'sweep-canary' AND status = 'completed'`,
  );
  return rows[0]?.n ?? 0;
}

async function describeSchedule(id: string) {
  return first.client.schedule.getHandle(id).describe();
}

describe('a process in the namespace of another installation', { timeout: TIMEOUT_MS }, () => {
  it('is refused with a sentence that names the remedy, and touches nothing', async () => {
    const before = (await describeSchedule('sweep-canary')).info.lastUpdatedAt;
    const [api, worker] = await Promise.all([run('api.js', databases.other), run('worker.js', databases.other)]);

    // The first schedule that answers is named.
    const withoutSchedule = (error: string) =>
      error.replace(/^cannot start: the schedule [a-z-]+ in/, 'cannot start: … in');
    const sentence =
      `cannot start: … in the namespace ${first.client.options.namespace} belongs to installation ` +
      `${await idOf(databases.first)}, and this database is installation ${await idOf(databases.other)}. Give this ` +
      'installation a namespace of its own with TEMPORAL_NAMESPACE, or names of its own with INSTALLATION=<name>.\n';
    expect([api.code, withoutSchedule(api.error)]).toEqual([78, sentence]);
    expect([worker.code, withoutSchedule(worker.error)]).toEqual([78, sentence]);
    expect((await describeSchedule('sweep-canary')).info.lastUpdatedAt).toEqual(before);
    const { rows } = await databases.other.pool.query('SELECT 1 FROM workers WHERE stopped_at IS NULL');
    expect(rows).toEqual([]);
  });

  it('with a copied database is refused until somebody has said that the copy is an installation of its own', async () => {
    const original = await idOf(databases.first);
    const copied = await run('worker.js', databases.copy);
    expect(copied.code).toBe(78);
    expect(copied.error).toMatch(
      /^cannot start: this database is a copy: installation \S+ was set up in database \d+ of/,
    );
    expect(copied.error).toContain('run npm run installation -- new.');
    expect(copied.error).toContain('run npm run installation -- moved.');

    const told = await run('installation.js', databases.copy, 'new');

    const own = await idOf(databases.copy);
    expect(own).not.toBe(original);
    expect([told.code, told.said]).toEqual([0, `installation ${own}, not used in Temporal yet\n`]);
    const refused = await run('worker.js', databases.copy);
    expect(refused.error).toContain(`belongs to installation ${original}, and this database is installation ${own}.`);
  });

  it('works beside the others under a name of its own, and none touches the items, schedules or runs of another', async () => {
    await reaches(databases.first, twin, 'AWAITING');
    const named = async (name: string, database: TestDatabase): Promise<Parts> => {
      const parts = await startParts({ workers: 1, told: { INSTALLATION: name }, database, beside: first });
      started.push(parts);
      return parts;
    };
    const [other, copy] = await Promise.all([named('blue', databases.other), named('staging', databases.copy)]);
    await reaches(databases.copy, twin, 'AWAITING');
    const sweeps = await Promise.all(Object.values(databases).map(sweepsOf));

    // The copy's twin ends; that of the first goes on.
    await callerOf(copy)(`items/${twin}/cancel`, { reason: 'only a copy' });
    await reaches(databases.copy, twin, 'FAILED');
    const places = [
      [first, databases.first],
      [other, databases.other],
      [copy, databases.copy],
    ] as const;
    for (const [parts, database] of places) {
      const { id = '' } = await callerOf(parts)('canaries', {});
      await reaches(database, id, 'DONE');
      expect(await effectsOf(database.pool, id)).toHaveLength(3);
      await callerOf(parts)('schedules/sweep-canary/trigger', {});
    }
    await until('each has swept its own items', async () => {
      const now = await Promise.all(Object.values(databases).map(sweepsOf));
      return now.every((count, at) => count > (sweeps[at] ?? 0));
    });

    const handle = first.client.workflow.getHandle(`canary:${twin}:1`);
    expect((await handle.describe()).status.name).toBe('RUNNING');
    await callerOf(first)(`items/${twin}/decisions`, { outcome: 'approve' });
    await reaches(databases.first, twin, 'DONE');
    expect(await itemOf(databases.first.pool, twin)).toMatchObject({ epoch: 1, rescues: 0 });
    expect(await itemOf(databases.copy.pool, twin)).toMatchObject({ state: 'FAILED' });
    const owners = [
      ['sweep-canary', databases.first],
      ['blue.sweep-canary', databases.other],
      ['staging.sweep-canary', databases.copy],
    ] as const;
    for (const [id, database] of owners) {
      expect((await describeSchedule(id)).action.memo).toMatchObject({ installation: await idOf(database) });
      const { rows } = await database.pool.query('SELECT kind FROM outbox WHERE owner IS NULL');
      expect(rows).toEqual([]);
    }
  });

  it('is refused under another name than that of the runs of its database', async () => {
    const refused = await run('worker.js', databases.other);
    expect(refused.code).toBe(78);
    expect(refused.error).toContain(
      'INSTALLATION is not set, and the runs of this database are in Temporal under the name blue.',
    );
    const busy = await run('installation.js', databases.other, 'new');
    expect(busy.code).toBe(1);
    expect(busy.error).toContain(
      'processes are connected to this database: api, watcher, worker-1 presence. Stop them',
    );
  });
});
