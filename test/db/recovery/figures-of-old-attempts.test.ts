import { randomUUID } from 'node:crypto';
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import pg from 'pg';
import { expect, inject, it, onTestFinished } from 'vitest';
import { migrate } from '../../../src/db/postgres/migrate.js';
import { COUNTING, countAll, figureLines } from '../../support/figures.js';
import { onServer, urlOfDatabase } from '../../support/postgres.js';

const OURS = resolve(import.meta.dirname, '../../../prisma/migrations');
const FIGURES = '20261118102000_figures';

const OLD_ATTEMPT = `
  INSERT INTO attempts (item_id, pipeline, visit, stage, attempt, fence, started_at, ended_at, result, error_class)
  VALUES (gen_random_uuid(), 'canary', 1, 'first', 1, 1, now() - interval '2 seconds', now(), $1, $2)`;

it('attempts and moves of the version before are counted once, also if that version goes on writing', async () => {
  const name = `figures_${randomUUID().replaceAll('-', '')}`;
  await onServer(inject('databaseUrl'), `create database ${name}`);
  const url = urlOfDatabase(inject('databaseUrl'), name);
  const dir = mkdtempSync(join(tmpdir(), 'migrations-'));
  const pool = new pg.Pool({ connectionString: url, max: 4 });
  onTestFinished(async () => {
    await pool.end();
    rmSync(dir, { recursive: true });
    await onServer(inject('databaseUrl'), `drop database ${name} with (force)`);
  });
  const earlier = readdirSync(OURS).filter((each) => /^\d/.test(each) && each < FIGURES);
  for (const each of earlier) cpSync(join(OURS, each), join(dir, each), { recursive: true });
  await migrate(url, dir);
  await pool.query(OLD_ATTEMPT, ['done', null]);
  await pool.query(OLD_ATTEMPT, ['crash', 'SCAN_TIMEOUT']);
  await pool.query(
    `INSERT INTO audit (item_id, pipeline, version, visit, epoch, to_state, trigger, actor, actor_type, at)
     VALUES (gen_random_uuid(), 'canary', 1, 1, 1, 'FIRST', 'made', 'ada', 'user', now() - interval '5 days')`,
  );

  await migrate(url, OURS);
  await pool.query(OLD_ATTEMPT, ['done', null]);
  await countAll(pool, COUNTING);
  await countAll(pool, COUNTING);

  for (const span of ['total', 'day', 'hour'])
    expect(await figureLines(pool, 'canary', 'attempt', span)).toEqual(['first crash WORKER_CRASH 1', 'first done 2']);
  const { rows } = await pool.query<{ buckets: string[] }>(
    `SELECT buckets FROM figures WHERE span = 'total' AND outcome = 'done'`,
  );
  expect(rows[0]?.buckets.map(Number).flatMap((count, n) => (count > 0 ? [[n, count]] : []))).toEqual([[8, 2]]);
  expect(await figureLines(pool, 'canary', 'move')).toEqual(['FIRST created 1']);
  expect(await figureLines(pool, 'canary', 'move', 'hour')).toEqual([]);
});
