import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { emptyRecord, type JobBegin, type JobEnd } from '../../../src/core/jobs.js';
import { beginJob, endJob, listLatestJobs, noteProgress } from '../../../src/db/recovery/job-executions.js';
import { openSpine, type Spine } from '../../support/spine.js';

let spine: Spine;
beforeAll(async () => {
  spine = await openSpine();
});
afterAll(() => spine.close());

interface Row {
  id: string;
  status: string;
  runs: number;
  ended: boolean;
  errors: string[];
}

async function rowsOf(job: string): Promise<Row[]> {
  const { rows } = await spine.pool.query<Row>(
    `SELECT id::text, status, runs, ended_at IS NOT NULL AS ended, errors FROM job_executions WHERE job = $1 ORDER BY id`,
    [job],
  );
  return rows;
}

async function begin(job: string, more: Partial<JobBegin> = {}) {
  return beginJob(spine.limited, { job, runId: randomUUID(), timeoutMs: 60_000, ...more });
}

async function begun(job: string, more: Parameters<typeof begin>[1] = {}): Promise<string> {
  const answer = await begin(job, more);
  if (!answer.begun) throw new Error('it was not begun');
  return answer.id;
}

async function end(id: string, more: Partial<JobEnd> = {}): Promise<void> {
  const result = { totalStuck: 0 };
  await endJob(spine.limited, { id, status: 'completed', idle: false, result, phases: {}, errors: [], ...more });
}

const DEAD = { timeoutMs: -1 };

/** Longer ago than the clocks of Temporal and of the database may differ. */
const LONG_DEAD = { timeoutMs: -120_000 };

describe('a job execution', () => {
  it('is a row before anything is done, and is completed with what came of it', async () => {
    const id = await begun('plain');
    expect(await rowsOf('plain')).toEqual([{ id, status: 'running', runs: 1, ended: false, errors: [] }]);

    await end(id, { result: { totalStuck: 3 }, phases: { pages: 12 }, errors: ['one item'] });

    const [latest] = await listLatestJobs(spine.pool, ['plain', 'other']);
    expect(latest).toMatchObject({
      job: 'plain',
      status: 'completed',
      result: { totalStuck: 3 },
      phases: { pages: 12 },
      errors: ['one item'],
    });
    expect(latest?.endedAt).toBeInstanceOf(Date);
  });

  it('is the latest of its job, also when its id has one digit more than the one before', async () => {
    const text = `INSERT INTO job_executions (id, job, run_id, timeout_at) VALUES ($1, 'counted', $2, now())`;
    for (const id of [999_999, 1_000_000]) await spine.pool.query(text, [id, randomUUID()]);
    expect(await listLatestJobs(spine.pool, ['counted'])).toMatchObject([{ id: '1000000' }]);
  });

  it('begun twice by one run, whose first answer was lost, is one', async () => {
    const runId = randomUUID();
    const first = await begin('again', { runId });
    expect(await begin('again', { runId })).toEqual(first);
    expect(await rowsOf('again')).toHaveLength(1);
  });

  it('past its timeout is marked failed by the next, and a late end does not undo that', async () => {
    const dead = await begun('died', DEAD);
    expect(await listLatestJobs(spine.pool, ['died'])).toMatchObject([{ status: 'failed' }]);
    const next = await begun('died');

    await end(dead);

    expect(await rowsOf('died')).toMatchObject([
      { id: dead, status: 'failed', ended: true, errors: [expect.stringMatching(/past its timeout/)] },
      { id: next, status: 'running' },
    ]);
  });

  it('past its timeout is marked failed by a run of any other job, because its own job may never run again', async () => {
    await begun('by-hand', { ...LONG_DEAD, key: 'k' });
    await begun('any-other');
    expect(await rowsOf('by-hand')).toMatchObject([{ status: 'failed', ended: true }]);
  });

  it('within its timeout is left alone by one beside it, and hardly past it by one of another job', async () => {
    await begun('beside');
    await begun('beside');
    await begun('hardly', DEAD);
    await begun('any-other');
    expect((await rowsOf('beside')).map(({ status }) => status)).toEqual(['running', 'running']);
    expect((await rowsOf('hardly')).map(({ status }) => status)).toEqual(['running']);
  });

  it('begun late has the timeout of its run, and not a later one', async () => {
    const timeoutAt = '2099-01-01T00:00:00.000Z';
    const answer = await beginJob(spine.limited, { job: 'late', runId: randomUUID(), timeoutAt });
    const { rows } = await spine.pool.query<{ at: Date }>(
      `SELECT timeout_at AS at FROM job_executions WHERE job = 'late'`,
    );
    expect([answer.begun, rows[0]?.at.toISOString()]).toEqual([true, timeoutAt]);
  });
});

describe('runs in a row that found nothing', () => {
  it('share one row, which counts them and shows the last', async () => {
    for (let n = 0; n < 3; n += 1) await end(await begun('idle'), { idle: true, phases: { pages: n } });

    expect(await rowsOf('idle')).toMatchObject([{ status: 'completed', runs: 3, ended: true }]);
    expect(await listLatestJobs(spine.pool, ['idle'])).toMatchObject([{ phases: { pages: 2 } }]);
  });

  it('begin a new row after one that found something, or failed', async () => {
    await end(await begun('mixed'), { idle: true });
    await end(await begun('mixed'));
    await end(await begun('mixed'), { idle: true });
    await end(await begun('mixed'), { status: 'failed' });
    await end(await begun('mixed'), { idle: true });

    expect((await rowsOf('mixed')).map(({ status, runs }) => `${status} ${String(runs)}`)).toEqual([
      'completed 1',
      'completed 1',
      'completed 1',
      'failed 1',
      'completed 1',
    ]);
  });

  it('keep their rows where somebody started them under a key', async () => {
    await end(await begun('keyed'), { idle: true });
    await end(await begun('keyed', { key: 'k' }), { idle: true });
    await end(await begun('keyed', { key: 'k' }), { idle: true });
    expect((await rowsOf('keyed')).map(({ runs }) => runs)).toEqual([1, 1, 1]);
  });

  it('are counted once, however often the end is told', async () => {
    await end(await begun('told'), { idle: true });
    const id = await begun('told');
    await end(id, { idle: true });
    await end(id, { idle: true });
    expect(await rowsOf('told')).toMatchObject([{ runs: 2 }]);
  });
});

describe('the window of a windowed job', () => {
  const windowKey = '2026-11-16T10';

  it('is done once, whether the one that does it still runs or has ended', async () => {
    const id = await begun('decay', { windowKey });
    expect(await begin('decay', { windowKey })).toEqual({ begun: false });
    await end(id);
    expect(await begin('decay', { windowKey })).toEqual({ begun: false });
    expect(await begin('decay', { windowKey: '2026-11-16T11' })).toMatchObject({ begun: true });
  });

  it('is taken by one of many that begin at once', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => begin('rush', { windowKey })));
    expect(answers.filter((answer) => answer.begun)).toHaveLength(1);
  });

  it('is free again when its job failed or its run died', async () => {
    await end(await begun('retried', { windowKey }), { status: 'failed' });
    await begun('retried', { windowKey, ...DEAD });
    expect(await begin('retried', { windowKey })).toMatchObject({ begun: true });
  });
});

describe('the progress of a run', () => {
  it('is in its row after each page, and a page that comes late does not take it back', async () => {
    const id = await begun('paged');
    const record = { ...emptyRecord(), counts: { things: 5 }, errors: ['one'], costCents: 0.5, pages: 2 };
    await noteProgress(spine.limited, id, record);
    await noteProgress(spine.limited, id, { ...record, counts: { things: 1 }, pages: 1 });

    expect(await listLatestJobs(spine.pool, ['paged'])).toMatchObject([
      { status: 'running', result: { things: 5, pages: 2, isWhole: false }, errors: ['one'], costCents: 0.5 },
    ]);
  });

  it('does not change an execution that has ended', async () => {
    const id = await begun('over');
    await end(id, { status: 'aborted', result: { things: 1 } });
    await noteProgress(spine.limited, id, { ...emptyRecord(), counts: { things: 9 }, pages: 1 });
    expect(await listLatestJobs(spine.pool, ['over'])).toMatchObject([{ status: 'aborted', result: { things: 1 } }]);
  });
});

describe('the cursor of a run whose time was up', () => {
  const input = { keyword: 'a' };
  const goesOn = { input, cursor: { at: 7 } };

  it('is handed to the next run with the same key and input, until a run comes to its end', async () => {
    await end(await begun('long', { key: 'k', input }), { goesOn });

    const next = await begin('long', { key: 'k', input });
    expect(next).toMatchObject({ cursor: { at: 7 } });
    expect(await begin('long', { key: 'k', input: { keyword: 'b' } })).not.toHaveProperty('cursor');
    expect(await begin('long', { key: 'other', input })).not.toHaveProperty('cursor');
    expect(await begin('other', { key: 'k', input })).not.toHaveProperty('cursor');

    if (next.begun) await end(next.id, { goesOn: null });
    expect(await begin('long', { key: 'k', input })).not.toHaveProperty('cursor');
  });

  it('is handed out again when the answer was lost', async () => {
    await end(await begun('lost', { input }), { goesOn });
    const runId = randomUUID();
    const first = await begin('lost', { runId, input });
    expect(first).toMatchObject({ cursor: { at: 7 } });
    expect(await begin('lost', { runId, input })).toEqual(first);
  });

  it('stays as the next run has left it when the end is told twice', async () => {
    const first = await begun('twice', { input });
    await end(first, { goesOn });
    await end(await begun('twice', { input }), { goesOn: { input, cursor: { at: 9 } } });
    await end(first, { goesOn });
    await end(first, { goesOn: null });
    expect(await begin('twice', { input })).toMatchObject({ cursor: { at: 9 } });
  });
});
