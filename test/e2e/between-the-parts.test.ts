import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type Installation, startInstallation } from '../support/installation.js';
import { until } from '../support/until.js';
import { type Caller, callerOf } from './caller.js';

let installation: Installation;
let ada: Caller;
beforeAll(async () => {
  installation = await startInstallation();
  ada = await callerOf(installation, 'ada');
}, 180_000);
afterAll(() => installation.stop());

const EACH_ONCE = [
  { stage: 'first', count: 1 },
  { stage: 'second', count: 1 },
  { stage: 'third', count: 1 },
];

const DONE_AT_ONCE = ['first', 'second', 'third'].map((stage) => ({ stage, attempt: 1, result: 'done' }));

async function effectsOf(id: string): Promise<{ stage: string; count: number }[]> {
  const { rows } = await installation.pool.query<{ stage: string; count: number }>(
    'SELECT stage, count(*)::int FROM canary_effects WHERE item_id = $1 GROUP BY stage ORDER BY stage',
    [id],
  );
  return rows;
}

async function stagesDone(id: string): Promise<string[]> {
  return (await effectsOf(id)).flatMap(({ stage, count }) => Array.from({ length: count }, () => stage));
}

async function attemptsOf(id: string): Promise<{ stage: string; attempt: number; result: string }[]> {
  const { rows } = await installation.pool.query<{ stage: string; attempt: number; result: string }>(
    'SELECT stage, attempt, result FROM attempts WHERE item_id = $1 ORDER BY id',
    [id],
  );
  return rows;
}

async function runs(id: string, stage: string): Promise<void> {
  const text = `SELECT 1 FROM tasks WHERE item_id = $1 AND stage = $2 AND status = 'running'`;
  const isRunning = async () => (await installation.pool.query(text, [id, stage])).rows.length > 0 || null;
  await until(`${stage} of ${id} runs`, isRunning);
}

/** The row notes an answer of the engine to a start. */
async function isAccepted(id: string): Promise<true | null> {
  const text = 'SELECT 1 FROM items WHERE id = $1 AND accepted_at IS NOT NULL';
  return (await installation.pool.query(text, [id])).rows.length > 0 || null;
}

/** The statement that ends an attempt is the only one that has the word done as a parameter of its own. */
function endsAttempt(request: Buffer): boolean {
  return request.includes('\0\0\0\x04done');
}

async function refusalsOf(id: string): Promise<number> {
  return (await installation.pool.query('SELECT 1 FROM refusals WHERE item_id = $1', [id])).rows.length;
}

/** The worker's own limit on an answer is 20 s. */
const GIVEN_UP_WITHIN_MS = 60_000;

describe('an answer that is lost after the fact', () => {
  it('leaves one run when the answer to its start is lost and the start is asked for again', async () => {
    const connection = await Connection.connect({ address: installation.temporalAddress });
    onTestFinished(() => connection.close());
    // Without workers the row says that nothing has started until the API or its dispatcher has asked again.
    const workers = ['worker-1', 'worker-2'] as const;
    for (const name of workers) await installation.takeAway(name);
    onTestFinished(() => workers.forEach((name) => installation.release(name)));
    const answer = installation.wires.apiToTemporal.loseAnswer((request) => request.includes('canary:'));

    const id = await ada.submit({ stageMs: [50, 50, 50] });
    await answer.lost;
    const handle = new Client({ connection }).workflow.getHandle(`canary:${id}:1`);
    const { runId } = await until('the run is there', () => handle.describe().catch(() => null));
    expect(await isAccepted(id)).toBeNull();
    answer.breakOff();

    await until('another start of the same run was answered', () => isAccepted(id));
    expect((await handle.describe()).runId).toBe(runId);
    workers.forEach((name) => installation.release(name));
    await ada.reaches(id, 'DONE');
    expect((await handle.describe()).runId).toBe(runId);
    expect(await effectsOf(id)).toEqual(EACH_ONCE);
    expect(await attemptsOf(id)).toEqual(DONE_AT_ONCE);
  }, 90_000);

  it('runs a stage once when the answer to its commit is lost: the worker looks it up', async () => {
    await installation.ready();
    const answer = installation.wires.workersToPostgres.loseAnswer(endsAttempt);
    const id = await ada.submit({ stageMs: [50, 50, 50] });

    await answer.lost;
    expect(await effectsOf(id)).toEqual([{ stage: 'first', count: 1 }]);
    answer.breakOff();

    await ada.reaches(id, 'DONE');
    expect(await effectsOf(id)).toEqual(EACH_ONCE);
    expect(await attemptsOf(id)).toEqual(DONE_AT_ONCE);
    expect(await refusalsOf(id)).toBe(0);
  }, 90_000);

  it('gives the same item to the same key when the answer to a submission is lost', async () => {
    await installation.ready();
    const key = { 'idempotency-key': 'once' };
    installation.wires.apiToTemporal.stall();
    onTestFinished(() => installation.wires.apiToTemporal.heal());

    const unanswered = ada.post('/api/v1/canaries', { stageMs: [50, 50, 50] }, key).catch((error: unknown) => error);
    const [{ id }] = await until('the row is there', async () => {
      const { rows } = await installation.pool.query<{ id: string }>('SELECT id FROM items WHERE NOT started');
      return rows.length > 0 ? (rows as [{ id: string }]) : null;
    });
    const pid = await installation.kill('api');
    expect(await unanswered).toBeInstanceOf(Error);
    installation.wires.apiToTemporal.heal();
    await installation.backFrom('api', pid);
    const again = await ada.post('/api/v1/canaries', { stageMs: [50, 50, 50] }, key);

    expect(again).toMatchObject({ status: 202, body: { id } });
    await ada.reaches(id, 'DONE');
    expect(await effectsOf(id)).toEqual(EACH_ONCE);
  }, 90_000);
});

describe('a connection to Postgres that falls silent without a word', () => {
  it('is given up in time, whether the commit went through or not, and costs neither a try nor an effect', async () => {
    await installation.ready();
    const wire = installation.wires.workersToPostgres;
    const { lost } = wire.loseAnswer(endsAttempt);
    const unanswered = await ada.submit({ stageMs: [50, 50, 50] });
    await lost;
    const held = wire.holdBack(endsAttempt);
    const unsent = await ada.submit({ stageMs: [50, 50, 50] });
    await held;
    onTestFinished(() => wire.heal());
    expect(await effectsOf(unanswered)).toEqual([{ stage: 'first', count: 1 }]);
    expect(await effectsOf(unsent)).toEqual([]);

    await Promise.all([unanswered, unsent].map((id) => ada.reaches(id, 'DONE', GIVEN_UP_WITHIN_MS)));
    // What was held back arrives after all, long after the worker has given it up.
    wire.heal();
    await ada.reaches(await ada.submit({}), 'DONE');

    for (const id of [unanswered, unsent]) {
      expect(await effectsOf(id)).toEqual(EACH_ONCE);
      expect(await attemptsOf(id)).toEqual(DONE_AT_ONCE);
      expect(await refusalsOf(id)).toBe(0);
    }
  }, 120_000);
});

describe('while Temporal is away', () => {
  it('submissions, decisions and cancels are taken, reads say degraded, and the runs follow when it is back', async () => {
    await installation.ready();
    const awaiting = await ada.submit({ stageMs: [50, 50, 50], decision: true });
    const cancelled = await ada.submit({ stageMs: [50, 60_000, 50] });
    const working = await ada.submit({ stageMs: [50, 3_000, 50] });
    await ada.reaches(awaiting, 'AWAITING');
    await runs(cancelled, 'second');
    await runs(working, 'second');
    await installation.takeAway('temporal');
    onTestFinished(() => installation.release('temporal'));

    const submitted = await ada.submit({ stageMs: [50, 50, 50], units: 2 });
    const decided = await ada.post(`/api/v1/items/${awaiting}/decisions`, { outcome: 'approve' });
    const ended = await ada.post(`/api/v1/items/${cancelled}/cancel`, { reason: 'not wanted any more' });

    expect(decided).toMatchObject({ status: 200, body: { state: 'THIRD' } });
    expect(ended).toMatchObject({ status: 200, body: { state: 'FAILED', endReason: 'CANCELLED', live: false } });
    const health = await until('health has noticed', async () => {
      const answer = await ada.get('/health/ready');
      return answer.body['status'] === 'degraded' ? answer : null;
    });
    expect(health).toMatchObject({
      status: 200,
      body: { parts: { temporal: { status: 'away' }, postgres: { status: 'ok' } } },
    });
    const read = await ada.get(`/api/v1/items/${submitted}`);
    expect(read).toMatchObject({
      status: 200,
      body: { state: 'FIRST', degraded: true, diagnosis: { reason: 'engine_unreachable' } },
    });
    expect(await stagesDone(awaiting)).toEqual(['first', 'second']);

    installation.release('temporal');
    await Promise.all([awaiting, working, submitted].map((id) => ada.reaches(id, 'DONE')));
    expect(await stagesDone(awaiting)).toEqual(['first', 'second', 'third']);
    expect(await stagesDone(working)).toEqual(['first', 'second', 'third']);
    expect(await stagesDone(submitted)).toEqual(['first', 'second', 'spread', 'spread', 'third']);

    const connection = await Connection.connect({ address: installation.temporalAddress });
    onTestFinished(() => connection.close());
    const run = new Client({ connection }).workflow.getHandle(`canary:${cancelled}:1`);
    await until(
      'the cancelled run is over',
      async () => (await run.describe()).status.name !== 'RUNNING' || null,
      40_000,
    );
    expect(await stagesDone(cancelled)).toEqual(['first']);
    await until('nothing is degraded any more', async () => {
      const { body } = await ada.get(`/api/v1/items/${cancelled}`);
      return (body.state === 'FAILED' && body['degraded'] === false) || null;
    });
  }, 120_000);
});
