import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isAlive } from '../../scripts/pid-lock.mjs';
import { effectsOf, itemOf, taskOf } from '../support/facts.js';
import { type Installation, type PartName, startInstallation } from '../support/installation.js';
import { childrenOf } from '../support/killable-parts.js';
import { until } from '../support/until.js';
import { type Caller, callerOf } from './caller.js';

/** Covers src/activities/isolated-stage.ts, src/activities/serve-isolated.ts, src/start/isolated.ts and src/start/parts/isolation.ts:
 *  suspects in processes of their own, with real workers. */

/** Longer than two restarts of a worker on a busy machine. */
const WITHIN_MS = 120_000;

let installation: Installation;
let admin: Caller;
beforeAll(async () => {
  // Twice the canary's own heartbeat timeout, so that a busy machine starves no process for so long.
  // One death makes a suspect here, so that fewer workers have to start again.
  installation = await startInstallation({ SUSPECT_DEATHS: '1', ISOLATED_MEMORY: '256MB', CANARY_BEATS: '4s' });
  admin = await callerOf(installation, 'root', ['admin']);
}, 180_000);
afterAll(() => installation.stop());

/** The death of its worker makes a suspect of the task. */
function killsWorker(stage: string, unit?: string) {
  return { stage, kind: 'kill', attempt: 1, ...(unit !== undefined && { unit }) };
}

function harms(stage: string, kind: string, ...attempts: number[]) {
  return attempts.map((attempt) => ({ stage, kind, attempt }));
}

/** The attempts that ran in a process of their own, as `stage unit result`. */
async function isolatedAttemptsOf(id: string): Promise<string[]> {
  const { rows } = await installation.pool.query<{ line: string }>(
    `SELECT concat_ws(' ', stage, nullif(unit, ''), result) AS line FROM attempts WHERE item_id = $1 AND isolated ORDER BY id`,
    [id],
  );
  return rows.map(({ line }) => line);
}

async function crashMessagesOf(id: string): Promise<string[]> {
  const { rows } = await installation.pool.query<{ message: string }>(
    `SELECT error_message AS message FROM attempts WHERE item_id = $1 AND isolated AND result = 'crash' ORDER BY id`,
    [id],
  );
  return rows.map(({ message }) => message);
}

/** The worker of the running isolated task; null: none runs. */
async function isolatingWorkerOf(id: string): Promise<PartName | null> {
  const { rows } = await installation.pool.query<{ name: PartName }>(
    `SELECT w.name FROM tasks t JOIN workers w ON w.id = t.worker
     WHERE t.item_id = $1 AND t.status = 'running' AND t.isolated AND COALESCE(w.seen_gone_at, w.died_at, w.stopped_at) IS NULL`,
    [id],
  );
  return rows[0]?.name ?? null;
}

describe('a stage that was running at as many worker deaths as make a suspect', () => {
  it('runs, keeps checkpoints, fans out, asks a person and commits once, from a process of its own', async () => {
    const id = await admin.submit({
      ...{ stageMs: [0, 2_500, 0], units: 3, decision: true },
      faults: [killsWorker('spread', 'unit-2'), killsWorker('second')],
    });
    await until(
      'a checkpoint is kept from the process of its own',
      async () => {
        const { rows } = await installation.pool.query(
          `SELECT 1 FROM tasks WHERE item_id = $1 AND stage = 'second' AND status = 'running' AND isolated AND checkpoint IS NOT NULL`,
          [id],
        );
        return rows.length > 0;
      },
      WITHIN_MS,
    );
    const { body } = await admin.get(`/api/v1/items/${id}`);
    expect(body['inflight']).toMatchObject([{ stage: 'second', isolated: true, attempt: 2 }]);
    await admin.reaches(id, 'AWAITING', WITHIN_MS);
    await admin.post(`/api/v1/items/${id}/decisions`, { outcome: 'approve' });
    await admin.reaches(id, 'DONE', WITHIN_MS);

    // Units that ran beside the killed unit may be suspects too.
    expect(await isolatedAttemptsOf(id)).toEqual(expect.arrayContaining(['spread unit-2 done', 'second done']));
    expect((await effectsOf(installation.pool, id)).toSorted()).toEqual([
      ...['1 first', '1 second', '1 spread unit-1', '1 spread unit-2', '1 spread unit-3', '1 third'],
    ]);
    expect(await taskOf(installation.pool, id, 'second')).toMatchObject({ crashes: 1, ownDeaths: 0 });
  }, 300_000);

  it('ends as poison when it takes more memory than it may, three times', async () => {
    const id = await admin.submit({ faults: [killsWorker('second'), ...harms('second', 'eat', 2, 3, 4)] });
    await admin.reaches(id, 'FAILED', WITHIN_MS);

    expect(await itemOf(installation.pool, id)).toMatchObject({ endReason: 'POISON' });
    expect(await crashMessagesOf(id)).toEqual(
      Array(3).fill('the process that ran second alone took more than 256 MB of memory'),
    );
  }, 300_000);

  it('is killed and blamed when it says nothing, and goes on after that', async () => {
    const id = await admin.submit({
      faults: [killsWorker('second'), ...harms('second', 'spin', 2), ...harms('second', 'freeze', 3)],
    });
    await admin.reaches(id, 'DONE', WITHIN_MS);

    expect(await taskOf(installation.pool, id, 'second')).toMatchObject({ ownDeaths: 2, crashes: 3, attempt: 4 });
    expect(await crashMessagesOf(id)).toEqual(Array(2).fill('the process that ran second alone said nothing for 4 s'));
    expect((await effectsOf(installation.pool, id)).toSorted()).toEqual(['1 first', '1 second', '1 third']);
  }, 300_000);

  it('stops with its process when its item is cancelled', async () => {
    const id = await admin.submit({ stageMs: [0, 600_000, 0], faults: [killsWorker('second')] });
    const worker = await until('it runs isolated', () => isolatingWorkerOf(id), WITHIN_MS);
    const children = childrenOf(installation.pidOf(worker));
    expect(children).toHaveLength(1);

    await admin.post(`/api/v1/items/${id}/cancel`, { reason: 'not wanted' });

    await until('its process is gone', () => children.every((pid) => !isAlive(pid)), WITHIN_MS);
    expect(await itemOf(installation.pool, id)).toMatchObject({ endReason: 'CANCELLED' });
    expect(await taskOf(installation.pool, id, 'second')).toMatchObject({ ownDeaths: 0 });
  }, 300_000);
});

describe('a worker that is killed, frozen or stopped while it runs four isolated stages', () => {
  it('has none of them blamed or lost, and leaves no process behind', async () => {
    const ids = await Promise.all(Array.from({ length: 4 }, () => admin.submit({ stageMs: [0, 16_000, 0] })));
    const running = (where: string) =>
      until(
        `all four run ${where}`,
        async () => {
          const { rows } = await installation.pool.query(
            `SELECT 1 FROM tasks t JOIN workers w ON w.id = t.worker WHERE t.item_id = ANY ($1) AND t.stage = 'second'
               AND t.status = 'running' AND ${where} AND COALESCE(w.seen_gone_at, w.died_at, w.stopped_at) IS NULL`,
            [ids],
          );
          return rows.length === ids.length;
        },
        WITHIN_MS,
      );
    const seen = new Set<number>();
    const isolatedOn = async (worker: PartName): Promise<void> => {
      await running(`t.isolated AND w.name = '${worker}'`);
      const children = () => childrenOf(installation.pidOf(worker));
      await until('each has its process', () => children().length === ids.length, WITHIN_MS);
      for (const pid of children()) seen.add(pid);
    };

    await running('true');
    const away = await installation.takeAway('worker-2');
    await installation.backFrom('worker-1', await installation.kill('worker-1'));
    await isolatedOn('worker-1');
    await installation.backFrom('worker-1', await installation.kill('worker-1'));
    await isolatedOn('worker-1');
    installation.release('worker-2');
    await installation.backFrom('worker-2', away);
    await installation.freeze('worker-1');
    await isolatedOn('worker-2');
    installation.thaw('worker-1');
    await installation.retire('worker-2');
    for (const id of ids) await admin.reaches(id, 'DONE', WITHIN_MS);

    expect(seen.size).toBe(12);
    await until('no process is left', () => [...seen].every((pid) => !isAlive(pid)), WITHIN_MS);
    for (const id of ids) {
      expect((await effectsOf(installation.pool, id)).toSorted()).toEqual(['1 first', '1 second', '1 third']);
      expect(await taskOf(installation.pool, id, 'second')).toMatchObject({ ownDeaths: 0, errors: 0 });
      expect(await itemOf(installation.pool, id)).toMatchObject({ epoch: 1, rescues: 0 });
    }
  }, 400_000);
});
