import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { PIPELINES } from '../../src/domains/tables.js';
import { listDomainChecks } from '../../src/start/parts/from-domains.js';
import { createTestDatabase, onServer, urlOfDatabase } from '../support/postgres.js';
import { SCHEDULES } from '../support/schedules.js';
import { createNamespace, settingsOf, startParts } from './parts.js';
import { runChild } from './run-child.js';
import { tempDir } from './temp-dir.js';

/** The doctor waits for seconds for what does not answer, and a busy machine starts it slowly. */
const TIMEOUT_MS = 90_000;

interface Report {
  ok: boolean;
  findings: { name: string; level: string; says: string; remedy?: string }[];
}

async function examine(settings: Record<string, string>, args: string[] = []) {
  const doctor = runChild('src/start/doctor.ts', args, { env: settings });
  const code = await doctor.exited;
  const report = JSON.parse(doctor.output().trimEnd().split('\n').at(-1) ?? '') as Report;
  const finding = (name: string) => report.findings.find((each) => each.name === name);
  return { code, report, finding, output: doctor.output() };
}

/** Settings of an installation whose servers are there, without an API or a worker. */
async function serversOnly(databaseUrl: string): Promise<Record<string, string>> {
  const namespace = await createNamespace();
  onTestFinished(() => namespace.close());
  return settingsOf({
    DATABASE_URL: databaseUrl,
    TEMPORAL_ADDRESS: inject('temporalAddress'),
    TEMPORAL_NAMESPACE: namespace.name,
    JWT_SECRET: 'x'.repeat(32),
    PORT: '9',
    DATA_DIR: tempDir(),
  });
}

describe('npm run doctor', () => {
  it('finds nothing to complain about where all is well', { timeout: TIMEOUT_MS }, async () => {
    const parts = await startParts({ workers: 1 });
    onTestFinished(() => parts.stop());

    const { code, report } = await examine(parts.settings, ['--url', `${parts.url}/`]);

    expect(report.findings.filter(({ level }) => level !== 'ok')).toEqual([]);
    expect(report.findings.map(({ name }) => name)).toEqual([
      'database',
      'database version',
      'migrations',
      'database clock',
      'event order',
      'workers',
      'temporal',
      'temporal clock',
      'temporal timers',
      'search attribute',
      'turns',
      'schedules',
      ...Object.keys(PIPELINES).map((name) => `pipeline ${name}`),
      'installation',
      'namespace',
      'api',
      'tokens',
      'data folder',
      'embedder',
      'blob store',
      'blob folder',
      ...listDomainChecks().map(({ name }) => name),
    ]);
    expect(report.ok).toBe(true);
    expect(code).toBe(0);
  });

  it('says that nobody works, and what is missing besides', { timeout: TIMEOUT_MS }, async () => {
    const database = await createTestDatabase();
    onTestFinished(() => database.drop());

    const { code, finding, output } = await examine(await serversOnly(database.url));

    expect(code).toBe(1);
    expect(finding('workers')).toMatchObject({ level: 'problem', says: 'No worker was seen in the last 20 s.' });
    expect(finding('pipeline canary')).toMatchObject({
      level: 'problem',
      says: "Nobody polls for the workflow and activity tasks of 'canary'; what is submitted waits.",
    });
    expect(finding('search attribute')).toMatchObject({ level: 'warning' });
    const expected = SCHEDULES.filter(({ isOn }) => isOn).map(({ id }) => id);
    expect(expected).toEqual(expect.arrayContaining(['sweep-canary', 'retention']));
    expect(finding('schedules')?.says).toBe(
      `Temporal has no schedule ${expected.join(', ')}; nobody sweeps or cleans up.`,
    );
    expect(finding('api')).toMatchObject({ level: 'warning', says: 'No API answers at http://127.0.0.1:9.' });
    expect(finding('migrations')).toMatchObject({ level: 'ok' });
    expect(output).toContain('→ Start workers with npm run worker.');
  });

  it('names a worker whose process is there and says nothing', { timeout: TIMEOUT_MS }, async () => {
    const database = await createTestDatabase();
    onTestFinished(() => database.drop());
    const frozen = new pg.Client({ connectionString: database.url });
    await frozen.connect();
    onTestFinished(() => frozen.end());
    await frozen.query('SELECT pg_advisory_lock(4711)');
    await frozen.query(
      `INSERT INTO workers (id, name, host, pid, build, pipelines, lock_key, seen_at)
       VALUES ('a', 'worker-1', 'here', 17, 'test', '{canary}', 4710, now()),
         ('b', 'worker-2', 'here', 18, 'test', '{canary}', 4711, now() - interval '1 minute'),
         ('c', 'worker-3', 'here', 19, 'test', '{canary}', 4712, now() - interval '1 day')`,
    );

    const { finding } = await examine(await serversOnly(database.url));

    expect(finding('workers')).toMatchObject({
      level: 'warning',
      says: 'Silent for more than 20 s though the process is there: worker-2 on here (pid 18).',
    });
  });

  it('names the migrations that are not applied', { timeout: TIMEOUT_MS }, async () => {
    const name = `test_${randomUUID().replaceAll('-', '')}`;
    await onServer(inject('databaseUrl'), `create database ${name}`);
    onTestFinished(() => onServer(inject('databaseUrl'), `drop database ${name} with (force)`));

    const { code, finding } = await examine(await serversOnly(urlOfDatabase(inject('databaseUrl'), name)));

    expect(code).toBe(1);
    expect(finding('database')?.level).toBe('ok');
    expect(finding('migrations')).toMatchObject({
      level: 'problem',
      says: expect.stringMatching(/_spine/) as string,
      remedy: expect.stringContaining('npm run migrate') as string,
    });
    expect(finding('workers')?.says).toBe("Not checked, because 'migrations' has a problem.");
  });

  it('says where nothing answers, and shows no password', { timeout: TIMEOUT_MS }, async () => {
    const nowhere = settingsOf({
      DATABASE_URL: 'postgresql://someone:hidden@127.0.0.1:9/somewhere',
      TEMPORAL_ADDRESS: '127.0.0.1:9',
      DATA_DIR: tempDir(),
    });

    const { code, finding, output } = await examine(nowhere, ['--url', 'http://127.0.0.1:9']);

    expect(code).toBe(1);
    expect(finding('database')).toMatchObject({
      level: 'problem',
      says: expect.stringContaining('does not answer at 127.0.0.1:9') as string,
      remedy: 'Start it, or correct DATABASE_URL.',
    });
    expect(finding('temporal')).toMatchObject({ level: 'problem', says: 'Temporal does not answer at 127.0.0.1:9.' });
    expect(finding('api')).toMatchObject({ level: 'problem' });
    expect(finding('tokens')).toMatchObject({ level: 'problem' });
    expect(output).not.toContain('hidden');
  });

  it('tells a wrong user, a missing database and a missing namespace apart', { timeout: TIMEOUT_MS }, async () => {
    const stranger = new URL(inject('databaseUrl'));
    stranger.password = 'wrong';
    const settings = await serversOnly(stranger.href);
    const first = await examine({ ...settings, TEMPORAL_NAMESPACE: 'nowhere' });
    const second = await examine({ ...settings, DATABASE_URL: urlOfDatabase(inject('databaseUrl'), 'nowhere') });

    expect(first.finding('database')?.says).toMatch(/refuses user 'unstuck'/);
    expect(first.finding('temporal')?.says).toMatch(/has no namespace 'nowhere'/);
    expect(second.finding('database')?.says).toMatch(/has no database 'nowhere'/);
  });

  it('names every setting that is wrong', { timeout: TIMEOUT_MS }, async () => {
    const { code, report } = await examine(settingsOf({ PORT: 'x', WORKERS: '-1' }));

    expect(code).toBe(1);
    expect(report.findings.map(({ says }) => says)).toEqual([
      "PORT: expected a port from 1 to 65535, got 'x'",
      "WORKERS: expected a whole number from 0 to 64, got '-1'",
    ]);
  });
});
