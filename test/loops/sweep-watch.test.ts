import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { noteCounts, raiseLate, startSweepWatch } from '../../src/loops/sweep-watch.js';
import { beginJob, endJob } from '../../src/db/recovery/job-executions.js';
import { gate } from '../support/barrier.js';
import { openSpine, type Spine } from '../support/spine.js';
import { until } from '../support/until.js';
import { silent } from '../support/worker.js';
import { createFakeSchedules, type FakeSchedules } from '../api/fake-schedules.js';

let spine: Spine;
let schedules: FakeSchedules;
beforeEach(async () => {
  spine = await openSpine();
  schedules = createFakeSchedules();
});
afterEach(() => spine.close());

const deps = () => ({ pool: spine.limited, schedules, logger: silent });

async function events(): Promise<{ kind: string; sentence: string }[]> {
  const { rows } = await spine.pool.query<{ kind: string; sentence: string }>(
    'SELECT kind, sentence FROM outbox ORDER BY created_at',
  );
  return rows;
}

/** A sweep that ended that many seconds ago. */
async function swept(secondsAgo: number): Promise<void> {
  const begun = await beginJob(spine.pool, { job: 'sweep-canary', runId: `r${String(secondsAgo)}`, timeoutMs: 9_000 });
  if (!begun.begun) throw new Error('not begun');
  const nothing = { idle: false, result: {}, phases: {}, errors: [] };
  await endJob(spine.pool, { id: begun.id, status: 'completed', ...nothing });
  await spine.pool.query(`UPDATE job_executions SET ended_at = now() - $2 * interval '1 second' WHERE id = $1`, [
    begun.id,
    secondsAgo,
  ]);
}

const late = {
  id: 'sweep-canary',
  pipeline: 'canary',
  silentMs: 45_000,
  since: '2026-11-16T12:00:00.000Z',
  sentence: 'sweep-canary last got to its end 45 s ago; it is due every 10 s.',
};

describe('the watch over the sweeps', () => {
  it('tells operators of a late sweep once for each time it is late', async () => {
    await Promise.all([raiseLate(deps(), [late]), raiseLate(deps(), [late])]);
    expect(await events()).toEqual([{ kind: 'sweep_late', sentence: late.sentence }]);
    await raiseLate(deps(), [{ ...late, since: '2026-11-16T13:00:00.000Z' }]);
    expect(await events()).toHaveLength(2);
  });

  it('calls no sweep late right after a start, nor while sweeps end in time', async () => {
    await swept(3_600);
    const watch = startSweepWatch(deps());
    expect(await watch.late()).toEqual([]);
    await watch.stop();
  });

  it('sees by the database’s clock that a sweep is late', async () => {
    schedules.rows = schedules.rows.map((row) => ({ ...row, when: { every: '10ms' as const } }));
    await swept(3_600);
    const watch = startSweepWatch(deps());
    const [seen] = await until('it is late', async () => {
      const found = await watch.late();
      return found.length > 0 && found;
    });
    expect(seen).toMatchObject({ id: 'sweep-canary', pipeline: 'canary' });
    expect(seen?.sentence).toMatch(/^sweep-canary last got to its end 3600 s ago/);
    await swept(0);
    schedules.rows = schedules.rows.map((row) => ({ ...row, when: { every: '1h' as const } }));
    expect(await watch.late()).toEqual([]);
    await watch.stop();
  });
});

describe('a sweep watch that is asked to stop', () => {
  it('does not wait for a Temporal that hangs', async () => {
    const asked = gate();
    const hanging = {
      ...schedules,
      find: () => {
        asked.open();
        return new Promise<never>(() => undefined);
      },
    };
    const watch = startSweepWatch({ ...deps(), schedules: hanging });
    await asked.opened;
    await watch.stop();
  });
});

describe('the number of runs that a schedule left out', () => {
  const status = () => {
    if (!schedules.status) throw new Error('no status');
    return schedules.status;
  };

  it('is reported once when it grows, however many watch', async () => {
    await noteCounts(deps());
    expect(await events()).toEqual([]);

    schedules.status = { ...status(), skipped: 2 };
    schedules.rows = schedules.rows.slice(0, 1);
    await Promise.all([noteCounts(deps()), noteCounts(deps()), noteCounts(deps())]);
    await noteCounts(deps());

    expect(await events()).toEqual([
      { kind: 'schedule_skipped', sentence: 'sweep-canary skipped 2 runs, because the one before still went on.' },
    ]);
  });

  it('is reported for missed runs as well', async () => {
    schedules.rows = schedules.rows.slice(0, 1);
    schedules.status = { ...status(), skipped: 1, missed: 4 };
    await noteCounts(deps());
    expect((await events())[0]?.sentence).toBe(
      'sweep-canary skipped 1 run, because the one before still went on, and missed 4 runs, which came due while Temporal was away.',
    );
  });

  it('is reported at most once an hour, and starts from zero when the schedule is created again', async () => {
    schedules.rows = schedules.rows.slice(0, 1);
    schedules.status = { ...status(), skipped: 1 };
    await noteCounts(deps());
    await spine.pool.query(`UPDATE outbox SET id = 'an hour ago'`);
    schedules.status = { ...status(), skipped: 1, createdAt: new Date('2026-11-17T00:00:00Z') };
    await noteCounts(deps());
    expect(await events()).toHaveLength(2);
    schedules.status = { ...status(), skipped: 9 };
    await noteCounts(deps());
    expect(await events()).toHaveLength(2);
  });

  it('is unknown while Temporal is away', async () => {
    schedules.mood = 'away';
    await noteCounts(deps());
    expect(await events()).toEqual([]);
    const { rowCount } = await spine.pool.query('SELECT 1 FROM schedule_counts');
    expect(rowCount).toBe(0);
  });
});
