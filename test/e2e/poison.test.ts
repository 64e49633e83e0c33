import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { attemptsOf, auditOf, effectsOf, itemOf, taskOf } from '../support/facts.js';
import { type Installation, startInstallation } from '../support/installation.js';
import { until } from '../support/until.js';
import { type Caller, callerOf } from './caller.js';

const NEIGHBOURS = 19;

/** Long enough that they are all in flight when a worker dies under them, again and again. */
const STAGE_MS = 3_000;

/** Kills the process that runs it, every time; more attempts than it will ever get. */
const POISON = Array.from({ length: 12 }, (_, n) => ({ stage: 'second', kind: 'kill', attempt: n + 1 }));

let installation: Installation;
let admin: Caller;
beforeAll(async () => {
  installation = await startInstallation();
  admin = await callerOf(installation, 'root', ['admin']);
}, 180_000);
afterAll(() => installation.stop());

async function countRunning(): Promise<number> {
  const { rows } = await installation.pool.query(`SELECT 1 FROM tasks WHERE stage = 'second' AND status = 'running'`);
  return rows.length;
}

async function receiptsOf(id: string): Promise<string[]> {
  const { rows } = await installation.pool.query<{ line: string }>(
    `SELECT concat_ws(' ', reason, result) AS line FROM receipts WHERE item_id = $1 ORDER BY id`,
    [id],
  );
  return rows.map((each) => each.line);
}

describe('an item that kills its worker again and again, among nineteen others', () => {
  it('ends as poison, and each of the others is done with one effect', async () => {
    const began = Date.now();
    const stageMs = [0, STAGE_MS, 0];
    const others = await Promise.all(Array.from({ length: NEIGHBOURS }, () => admin.submit({ stageMs })));
    await until('all are in flight', async () => (await countRunning()) >= NEIGHBOURS - 3);
    const poison = await admin.submit({ faults: POISON });

    await admin.reaches(poison, 'FAILED', 240_000);
    const condemnedMs = Date.now() - began;
    await Promise.all(others.map((id) => admin.reaches(id, 'DONE', 240_000)));
    const doneMs = Date.now() - began;

    const task = await taskOf(installation.pool, poison, 'second');
    const crashes = await Promise.all(
      others.map(async (id) => (await taskOf(installation.pool, id, 'second')).crashes),
    );
    console.log(
      `condemned after ${String(condemnedMs)} ms and ${String(task.crashes)} crashes, all done after ${String(doneMs)} ms; ` +
        `crashes of the others: ${crashes.join(' ')}`,
    );
    expect(await itemOf(installation.pool, poison)).toMatchObject({ state: 'FAILED', endReason: 'POISON', rescues: 0 });
    expect(task).toMatchObject({ ownDeaths: 3, errors: 0 });
    expect((await auditOf(installation.pool, poison)).at(-1)).toMatchObject({ trigger: 'poison', actor: 'system' });
    expect(await receiptsOf(poison)).toEqual([...Array<string>(4).fill('worker_died moving'), 'worker_died poison']);
    for (const id of others) {
      expect(await effectsOf(installation.pool, id)).toEqual(['1 first', '1 second', '1 third']);
      expect(await itemOf(installation.pool, id)).toMatchObject({ epoch: 1, rescues: 0 });
      const attempts = await attemptsOf(installation.pool, id);
      expect(attempts.filter((line) => line.endsWith('error'))).toEqual([]);
      expect(attempts.filter((line) => line.startsWith('second')).length).toBeLessThanOrEqual(3);
    }
  }, 300_000);
});
