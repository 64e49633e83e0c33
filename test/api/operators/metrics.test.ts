import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildMetricsApp } from '../../../src/api/metrics-app.js';
import { countStarts } from '../../../src/api/items/tell-engine.js';
import { createPool } from '../../../src/db/postgres/client.js';
import { createPrisma } from '../../../src/db/postgres/prisma.js';
import { PIPELINES } from '../../../src/domains/tables.js';
import { createMetrics } from '../../../src/telemetry/metrics.js';
import { countAll } from '../../support/figures.js';
import { createFakeEngine } from '../fake-engine.js';
import { createFakeSchedules } from '../fake-schedules.js';
import { ADMIN, ALICE, openApi, submit, type TestApi, VIEWER } from '../setup.js';

let api: TestApi;
beforeAll(async () => {
  api = await openApi();
});
afterAll(() => api.close());

/** The value of each series, by its name and labels. */
function seriesOf(text: string): Map<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );
}

describe('metrics', () => {
  it('are for viewers and admins', async () => {
    expect((await api.call({ url: '/metrics' })).statusCode).toBe(401);
    for (const as of [VIEWER, ADMIN]) {
      const response = await api.call({ url: '/metrics', as });
      expect(response.statusCode).toBe(200);
      expect(response.headers['content-type']).toMatch(/^text\/plain; version=0\.0\.4/);
    }
  });

  it('count notifications that wait to be delivered, by channel, and those that no channel has yet', async () => {
    await api.database.pool.query(
      `INSERT INTO outbox (id, kind, sentence, routed_at) VALUES ('a', 'no_worker', '', now()), ('b', 'no_worker', '', NULL)`,
    );
    await api.database.pool.query(
      `INSERT INTO deliveries (event_id, channel, delivered_at, failed_at)
       VALUES ('a', 'log', now(), NULL), ('a', 'smtp', NULL, now()), ('a', 'slack', NULL, NULL)`,
    );

    const series = seriesOf((await api.call({ url: '/metrics', as: VIEWER })).body);

    const waiting = [...series].filter(([name]) => name.startsWith('unstuck_undelivered_notifications'));
    expect(waiting).toEqual([
      ['unstuck_undelivered_notifications{channel="slack"}', 1],
      ['unstuck_undelivered_notifications{channel="unrouted"}', 1],
    ]);
  });

  it('count live items by state, empty states too, and the oldest one’s age', async () => {
    await submit(api, ALICE);
    const { id } = await submit(api, ALICE);
    await api.database.pool.query(`UPDATE items SET created_at = now() - interval '100 seconds' WHERE id = $1`, [id]);
    const ended = await submit(api, ALICE);
    await api.call({ method: 'POST', url: `/api/v1/items/${ended.id}/cancel`, as: ALICE });
    await api.database.pool.query(
      `INSERT INTO refusals (item_id, pipeline, stage, fence) VALUES ($1, 'canary', 'first', 1), ($1, 'canary', 'first', 2)`,
      [id],
    );

    const series = seriesOf((await api.call({ url: '/metrics', as: VIEWER })).body);

    expect(series.get('unstuck_items{pipeline="canary",state="FIRST"}')).toBe(2);
    expect(series.get('unstuck_items{pipeline="canary",state="SECOND"}')).toBe(0);
    expect([...series.keys()]).not.toContain('unstuck_items{pipeline="canary",state="FAILED"}');
    expect(series.get('unstuck_oldest_item_age_seconds{pipeline="canary",state="FIRST"}')).toBeGreaterThanOrEqual(100);
    expect(series.get('unstuck_refused_commits_total{pipeline="canary",stage="first"}')).toBe(2);
    expect(series.get('unstuck_scrape_failed')).toBe(0);
    expect(series.has('process_cpu_seconds_total')).toBe(true);
    // A scrape reads, it does not add up.
    const again = seriesOf((await api.call({ url: '/metrics', as: VIEWER })).body);
    expect(again.get('unstuck_refused_commits_total{pipeline="canary",stage="first"}')).toBe(2);
  });

  it('count the workers that are there, and every death', async () => {
    await api.database.pool.query(
      `INSERT INTO workers (id, name, host, pid, build, pipelines, seen_at, stopped_at, seen_gone_at, deaths)
       VALUES ('there', '', '', 1, '', '{}', now(), NULL, NULL, 1), ('died', '', '', 1, '', '{}', now(), NULL, now(), 2),
         ('stopped', '', '', 1, '', '{}', now(), now(), NULL, 0),
         ('silent', '', '', 1, '', '{}', now() - interval '21 seconds', NULL, NULL, 0)`,
    );
    for (let scrapes = 0; scrapes < 2; scrapes += 1) {
      const series = seriesOf((await api.call({ url: '/metrics', as: VIEWER })).body);
      expect(series.get('unstuck_workers_present')).toBe(1);
      expect(series.get('unstuck_worker_deaths_total')).toBe(3);
    }
  });

  it('count what waits for a worker by stage: not what runs, is paused or is parked; units where there are units', async () => {
    const own = await openApi();
    const { pool } = own.database;
    const ids: string[] = [];
    for (let n = 0; n < 7; n += 1) ids.push((await submit(own, ALICE)).id);
    const [, running, paused, parked, ended, second, spread] = ids;
    const task = `INSERT INTO tasks (item_id, visit, stage, unit, status) VALUES ($1, 1, $2, $3, $4)`;
    await pool.query(task, [running, 'first', '', 'running']);
    await pool.query(`UPDATE items SET paused_until = 'infinity' WHERE id = $1`, [paused]);
    await pool.query(`UPDATE items SET parked_at = now() WHERE id = $1`, [parked]);
    await pool.query(`UPDATE items SET ended_at = now(), state = 'FAILED' WHERE id = $1`, [ended]);
    await pool.query(`UPDATE items SET state = 'SECOND' WHERE id = $1`, [second]);
    await pool.query(task, [second, 'first', '', 'done']);
    await pool.query(`UPDATE items SET state = 'SPREADING' WHERE id = $1`, [spread]);
    for (const [unit, status] of [
      ['a', 'done'],
      ['b', 'running'],
      ['c', 'waiting'],
      ['d', 'waiting'],
    ]) {
      await pool.query(task, [spread, 'spread', unit, status]);
    }

    const series = seriesOf((await own.call({ url: '/metrics', as: VIEWER })).body);

    const depths = [...series].filter(([name]) => name.startsWith('unstuck_queue_depth{pipeline="canary"'));
    expect(Object.fromEntries(depths)).toEqual({
      'unstuck_queue_depth{pipeline="canary",stage="first"}': 1,
      'unstuck_queue_depth{pipeline="canary",stage="second"}': 1,
      'unstuck_queue_depth{pipeline="canary",stage="spread"}': 2,
      'unstuck_queue_depth{pipeline="canary",stage="third"}': 0,
    });
    expect(series.get('unstuck_parked_items{pipeline="canary"}')).toBe(1);
    await own.close();
  });

  it('count isolated stages that run and that wait for a place, and the deaths of their processes', async () => {
    const own = await openApi();
    const { pool } = own.database;
    const ids: string[] = [];
    for (let n = 0; n < 4; n += 1) ids.push((await submit(own, ALICE)).id);
    const [running, waiting, ended, ordinary] = ids;
    await pool.query(
      `INSERT INTO tasks (item_id, visit, stage, status, isolated, place_asked_at)
       VALUES ($1, 1, 'first', 'running', true, NULL), ($2, 1, 'first', 'waiting', false, now()),
         ($3, 1, 'first', 'waiting', false, now()), ($4, 1, 'first', 'running', false, NULL)`,
      [running, waiting, ended, ordinary],
    );
    await pool.query(`UPDATE items SET ended_at = now(), state = 'FAILED' WHERE id = $1`, [ended]);
    await pool.query(
      `INSERT INTO attempts (item_id, pipeline, visit, stage, attempt, fence, started_at, ended_at, result, isolated, own_death)
       SELECT $1, 'canary', 1, 'first', n, n, now(), now() - age * interval '1 minute', 'crash', true, own
       FROM (VALUES (1, 1, true), (2, 59, true), (3, 61, true), (4, 1, false)) AS death (n, age, own)`,
      [running],
    );

    const series = seriesOf((await own.call({ url: '/metrics', as: VIEWER })).body);

    expect(series.get('unstuck_isolated_stages{pipeline="canary",status="running"}')).toBe(1);
    expect(series.get('unstuck_isolated_stages{pipeline="canary",status="waiting"}')).toBe(1);
    expect(series.get('unstuck_isolated_deaths_last_hour{pipeline="canary"}')).toBe(2);
    await own.close();
  });

  it('show the recoveries of the last hour, and forget older ones', async () => {
    await api.database.pool.query(
      `INSERT INTO receipts (item_id, pipeline, state, visit, epoch, reason, sentence, last_sign_at, seen_at, acted_at, actor,
         actor_type, result)
       SELECT gen_random_uuid(), 'canary', 'FIRST', 1, 2, 'workflow_closed', '', seen, seen, seen, 'system', 'system', result
       FROM (VALUES (now(), 'moving'), (now(), 'moving'), (now(), 'exhausted'), (now() - interval '61 minutes', 'parked'))
         AS r (seen, result)`,
    );
    const series = seriesOf((await api.call({ url: '/metrics', as: VIEWER })).body);
    const shown = [...series].filter(([name]) => name.startsWith('unstuck_recoveries_last_hour'));
    expect(Object.fromEntries(shown)).toEqual({
      'unstuck_recoveries_last_hour{pipeline="canary",reason="workflow_closed",result="moving"}': 2,
      'unstuck_recoveries_last_hour{pipeline="canary",reason="workflow_closed",result="exhausted"}': 1,
    });
  });

  it('show what attempts at a stage took as histograms by outcome, of known pipelines', async () => {
    const { pool } = api.database;
    await pool.query(
      `INSERT INTO attempts (item_id, pipeline, visit, stage, attempt, fence, started_at, result, outcome, error_class)
       SELECT gen_random_uuid(), pipeline, 1, 'third', 1, 1, now() - took, result, outcome, class FROM (VALUES
         ('canary', interval '0.4 s', 'done', 'done', NULL), ('canary', interval '2 s', 'done', 'done', NULL),
         ('canary', interval '30 s', 'error', NULL, 'DB_ERROR'), ('unknown', interval '90 s', 'done', 'done', NULL)
       ) AS a (pipeline, took, result, outcome, class)`,
    );
    await countAll(pool);
    const series = seriesOf((await api.call({ url: '/metrics', as: VIEWER })).body);
    const third = (name: string, labels: string) =>
      series.get(`unstuck_stage_${name}{pipeline="canary",stage="third",${labels}}`);
    expect(third('duration_seconds_bucket', 'outcome="done",le="0.25"')).toBe(0);
    expect(third('duration_seconds_bucket', 'outcome="done",le="0.5"')).toBe(1);
    expect(third('duration_seconds_bucket', 'outcome="done",le="2.5"')).toBe(2);
    expect(third('duration_seconds_bucket', 'outcome="done",le="+Inf"')).toBe(2);
    expect(third('duration_seconds_count', 'outcome="done"')).toBe(2);
    expect(third('duration_seconds_sum', 'outcome="done"')).toBeCloseTo(2.4, 1);
    expect(third('duration_seconds_count', 'outcome="error"')).toBe(1);
    expect(third('errors_total', 'class="DB_ERROR"')).toBe(1);
    expect([...series.keys()].filter((name) => name.includes('pipeline="unknown"'))).toEqual([]);
    expect(series.get('unstuck_figures_age_seconds')).toBeLessThan(60);
  });

  it('show the share of items that were given up, without verdicts and cancelled ones, and nothing where nothing ended', async () => {
    const name = 'unstuck_job_failure_rate{pipeline="canary"}';
    const { pool } = api.database;
    await countAll(pool);
    await pool.query('TRUNCATE figures');
    const ended = `INSERT INTO figures (span, at, pipeline, kind, stage, outcome, class, count, sum_ms, buckets)
      VALUES ('hour', date_trunc('hour', now(), 'UTC') - $1 * interval '1 hour', 'canary', 'end', '', $2, $3, $4, 0, '{}')`;
    await pool.query(ended, [2, 'FAILED', 'given_up', 9]);
    await pool.query(ended, [0, 'FAILED', 'cancelled', 50]);
    expect(seriesOf((await api.call({ url: '/metrics', as: VIEWER })).body).has(name)).toBe(false);
    await pool.query(ended, [0, 'DONE', '', 1]);
    await pool.query(ended, [0, 'FAILED', '', 1]);
    await pool.query(ended, [1, 'FAILED', 'decided', 1]);
    expect(seriesOf((await api.call({ url: '/metrics', as: VIEWER })).body).get(name)).toBe(0);
    await pool.query(ended, [0, 'FAILED', 'given_up', 1]);
    expect(seriesOf((await api.call({ url: '/metrics', as: VIEWER })).body).get(name)).toBe(0.25);
  });

  it('show task queues as Temporal sees them, and leave them out when it does not answer', async () => {
    const own = await openApi();
    own.engine.queueStatus = {
      pollers: [
        { identity: 'unregistered', seenAt: new Date() },
        { identity: 'long gone', seenAt: new Date(0) },
      ],
      backlog: 7,
      oldestMs: 1,
    };
    const series = seriesOf((await own.call({ url: '/metrics', as: VIEWER })).body);
    expect(series.get('unstuck_temporal_reachable')).toBe(1);
    expect(series.get('unstuck_task_queue_backlog{queue="canary"}')).toBe(7);
    expect(series.get('unstuck_task_queue_pollers{queue="canary"}')).toBe(1);
    for (const queue of ['maintenance', 'jobs', 'jobs-stats', 'jobs-discovery', 'jobs-enrichment']) {
      expect(series.get(`unstuck_task_queue_pollers{queue="${queue}"}`)).toBe(1);
    }
    await own.close();

    const cutOff = await openApi();
    cutOff.engine.mood = 'silent';
    const without = seriesOf((await cutOff.call({ url: '/metrics', as: VIEWER })).body);
    expect(without.get('unstuck_temporal_reachable')).toBe(0);
    expect([...without.keys()].filter((key) => key.startsWith('unstuck_task_queue'))).toEqual([]);
    expect(without.get('unstuck_queue_depth{pipeline="canary",stage="first"}')).toBe(0);
    await cutOff.close();
  });

  it('show the last sweep that got to its end, and what it found stuck while that is news', async () => {
    const own = await openApi();
    const { pool } = own.database;
    const scrape = async (): Promise<Map<string, number>> =>
      seriesOf((await own.call({ url: '/metrics', as: VIEWER })).body);
    const before = await scrape();
    expect(before.get('unstuck_sweep_interval_seconds{pipeline="canary"}')).toBe(10);
    expect([...before.keys()].filter((name) => /^unstuck_(sweep_age|stuck)/.test(name))).toEqual([]);

    // It ends a little later than now, so that a slow machine does not make it late.
    const soon = `now() + interval '1 minute'`;
    const result = { examined: 9, isWhole: true, byReason: { backlog: 4, wedged: 1 } };
    await pool.query(
      `INSERT INTO job_executions (job, status, started_at, timeout_at, ended_at, result, phases)
       VALUES ('sweep-canary', 'completed', now() - interval '1 day', now(), ${soon}, $1, '{"pages": 1500, "end": 500}'),
         ('sweep-canary', 'failed', now(), now(), now(), '{}', '{}')`,
      [result],
    );
    const fresh = await scrape();
    expect(fresh.get('unstuck_sweep_duration_seconds{pipeline="canary"}')).toBe(2);
    expect(fresh.get('unstuck_sweep_examined_items{pipeline="canary"}')).toBe(9);
    expect(fresh.get('unstuck_stuck_items{pipeline="canary",reason="backlog"}')).toBe(4);
    expect(fresh.get('unstuck_stuck_items{pipeline="canary",reason="no_worker"}')).toBe(0);

    await pool.query(`UPDATE job_executions SET ended_at = now() - interval '21 seconds' WHERE status = 'completed'`);
    const late = await scrape();
    expect(late.get('unstuck_sweep_age_seconds{pipeline="canary"}')).toBeGreaterThanOrEqual(21);
    expect([...late.keys()].filter((name) => name.startsWith('unstuck_stuck_items'))).toEqual([]);

    await pool.query(`UPDATE job_executions SET ended_at = ${soon}, result = $1 WHERE status = 'completed'`, [
      { ...result, isWhole: false },
    ]);
    expect([...(await scrape()).keys()].filter((name) => name.startsWith('unstuck_stuck_items'))).toEqual([]);
    await own.close();
  });

  it('count the runs that schedules left out', async () => {
    await api.database.pool.query(
      `INSERT INTO schedule_counts (schedule, created_at, skipped, missed) VALUES ('sweep-canary', now(), 3, 1), ('gone', now(), 9, 9)`,
    );
    for (let scrapes = 0; scrapes < 2; scrapes += 1) {
      const series = seriesOf((await api.call({ url: '/metrics', as: VIEWER })).body);
      const shown = [...series].filter(([name]) => name.startsWith('unstuck_schedule_runs_left_out_total'));
      expect(Object.fromEntries(shown)).toEqual({
        'unstuck_schedule_runs_left_out_total{schedule="sweep-canary",why="skipped"}': 3,
        'unstuck_schedule_runs_left_out_total{schedule="sweep-canary",why="missed"}': 1,
      });
    }
  });

  it('measure requests by route, never by id', async () => {
    const { id } = await submit(api, ALICE);
    await api.call({ url: `/api/v1/items/${id}`, as: ALICE });
    await api.call({ url: '/some/unknown/path' });
    const { body } = await api.call({ url: '/metrics', as: VIEWER });
    expect(
      seriesOf(body).get(
        'unstuck_http_request_duration_seconds_count{method="GET",route="/api/v1/items/:id",status="200"}',
      ),
    ).toBe(1);
    expect(body).not.toContain(id);
    expect(body).not.toContain('/some/unknown/path');
  });

  it('leave out what could not be read, and say so', async () => {
    const cutOff = await openApi({ databaseUrl: 'postgresql://nobody@127.0.0.1:1/nothing' });
    const response = await cutOff.call({ url: '/metrics', as: VIEWER });
    expect(response.statusCode).toBe(200);
    const series = seriesOf(response.body);
    expect(series.get('unstuck_scrape_failed')).toBe(1);
    const read =
      /^unstuck_(items|worker|queue_depth|recoveries|stage|figures|job_failure_rate|parked|isolated|task_queue|sweep_age|stuck)/;
    expect([...series.keys()].filter((key) => read.test(key))).toEqual([]);
    await cutOff.close();
  });

  it('of a domain are read from its manifest; one that can’t be read is left out and does not keep the others', async () => {
    const own = await openApi({
      metricParts: [
        {
          ...{ name: 'broken_total', help: 'h', type: 'counter', labels: [] },
          read: () => Promise.reject(new Error('no')),
        },
        {
          ...{ name: 'canaries_received_total', help: 'Canaries', type: 'counter', labels: ['how'] },
          read: ({ totals }) =>
            totals
              .filter((each) => each.class === 'created')
              .map(({ count }) => ({ labels: { how: 'well' }, measured: count })),
        },
      ],
    });
    await submit(own, ALICE);
    await countAll(own.database.pool);
    const { body } = await own.call({ url: '/metrics', as: VIEWER });
    const series = seriesOf(body);
    expect(series.get('canaries_received_total{how="well"}')).toBe(1);
    expect(body).toContain('# TYPE canaries_received_total counter');
    expect(series.has('broken_total')).toBe(false);
    expect(series.get('unstuck_scrape_failed')).toBe(1);
    await own.close();
  });

  it('on a port of their own need no token', async () => {
    const pool = createPool({ url: api.database.url, size: 1, name: 'metrics' });
    const metrics = createMetrics();
    const logger = pino({ level: 'silent' });
    const app = buildMetricsApp({
      pool,
      prisma: createPrisma(pool),
      engine: createFakeEngine(),
      schedules: createFakeSchedules(),
      metrics,
      pipelines: PIPELINES,
      engineQueues: ['maintenance'],
      metricParts: [],
      logger,
    });
    const response = await app.inject({ url: '/metrics' });
    expect(response.statusCode).toBe(200);
    expect(seriesOf(response.body).has('unstuck_items{pipeline="canary",state="FIRST"}')).toBe(true);
    expect((await app.inject({ url: '/api/v1/canaries', method: 'POST' })).statusCode).toBe(404);
    await app.close();
    await pool.end();
  });

  it('count the starts that are asked of the engine, and those that fail', async () => {
    const metrics = createMetrics();
    const engine = createFakeEngine();
    const counted = countStarts(engine, metrics, 'dispatcher');
    const first = { pipeline: 'canary', itemId: 'x', epoch: 1, step: { do: 'next' } } as const;
    const run = { ...first, owner: 'ada', priority: 0 };
    await counted.start(run);
    engine.mood = 'away';
    await expect(counted.start(run)).rejects.toMatchObject({ code: 'engine_unavailable' });
    const series = seriesOf(await metrics.registry.metrics());
    expect(series.get('unstuck_run_starts_total{by="dispatcher",result="ok"}')).toBe(1);
    expect(series.get('unstuck_run_starts_total{by="dispatcher",result="failed"}')).toBe(1);
  });
});
