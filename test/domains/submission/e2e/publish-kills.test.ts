import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type pg from 'pg';
import { compare } from 'semver';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { attemptsOf, itemOf, trailFaults } from '../../../support/facts.js';
import { type Installation, type PartName, startInstallation } from '../../../support/installation.js';
import { layVersions } from '../support/many-skills.js';
import { versionsOf } from '../support/publishing.js';
import { submitted } from '../support/skills.js';
import { until } from '../../../support/until.js';

/** What a publisher that was kept waiting has given up, a sweep takes up soon. */
const SETTINGS = {
  ...{ SUBMISSION_ALLOW_LOCAL: 'true', JUDGE_RULES_MAY_APPROVE: 'true', SUBMISSION_SWEEP_EVERY: '3s' },
  ...{ SUBMISSION_STALE_AFTER: '10s', SUBMISSION_STUCK_AFTER: '20s', SUBMISSION_RESCUE_BACKOFF: '1s' },
};

const PUBLISHED_WITHIN_MS = 180_000;

const RIVALS = 3;
const VERSIONS = 3 * RIVALS + 2;

let installation: Installation;
let folder: string;
let repoUrl: string;
let refs: string[];
const ids: string[] = [];
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'unstuck-skills-'));
  ({ repoUrl, refs } = layVersions(join(folder, 'team', 'skills'), VERSIONS));
  installation = await startInstallation(SETTINGS);
}, 180_000);
afterAll(async () => {
  await installation.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Past the API, which lets one submission of a skill through at a time: what publishes must not rest on that. */
async function submitVersions(count: number): Promise<string[]> {
  const next = refs.splice(0, count);
  const created = await Promise.all(
    next.map((ref) => submitted(installation.pool, { repoUrl, skillName: 'tidy-notes', ref })),
  );
  ids.push(...created);
  return created;
}

const locks = new Set<pg.PoolClient>();
afterEach(async () => {
  for (const held of locks) await release(held);
});

/** Locks a table against writers until it is let go of. */
async function lock(table: string): Promise<pg.PoolClient> {
  const client = await installation.pool.connect();
  locks.add(client);
  await client.query(`BEGIN; LOCK TABLE ${table} IN SHARE MODE`);
  return client;
}

async function release(held: pg.PoolClient): Promise<void> {
  locks.delete(held);
  await held.query('ROLLBACK');
  held.release();
}

/** The worker that waits for that table in the middle of publishing, told by the server's own tables. What has written a version
 *  already publishes; before that, nobody else writes into the table. */
function publisherAt(table: string): Promise<PartName> {
  return until(
    `a publisher waits for ${table}`,
    async () => {
      const { rows } = await installation.pool.query<{ name: PartName }>(
        `SELECT a.application_name AS name FROM pg_locks w JOIN pg_stat_activity a ON a.pid = w.pid
         WHERE w.relation = to_regclass($1::text) AND NOT w.granted AND ($1::text <> 'audit' OR EXISTS (
           SELECT 1 FROM pg_locks h WHERE h.pid = w.pid AND h.granted AND h.mode = 'RowExclusiveLock'
             AND h.relation = 'skill_versions'::regclass))`,
        [table],
      );
      return rows[0]?.name ?? null;
    },
    PUBLISHED_WITHIN_MS,
  );
}

/** kill -9; the supervisor starts another one. */
async function kill(worker: PartName): Promise<void> {
  await installation.backFrom(worker, await installation.kill(worker));
}

async function allPublished(): Promise<void> {
  for (const id of ids) {
    const isPublished = async () => (await itemOf(installation.pool, id)).state === 'PUBLISHED';
    await until(`${id} is published`, isPublished, PUBLISHED_WITHIN_MS);
  }
}

/** Every version once, none left out, one after the other. */
async function expectInOrder(): Promise<void> {
  await allPublished();
  const versions = await versionsOf(installation.pool, repoUrl);
  expect(versions.map(({ number }) => number)).toEqual(ids.map((_, at) => at + 1));
  const names = versions.map(({ version }) => version);
  expect(names.toSorted(compare)).toEqual(names);
  expect(new Set(names).size).toBe(names.length);
  expect(new Set(versions.map((each) => each.submission))).toEqual(new Set(ids));
  for (const id of ids) {
    expect(await trailFaults(installation.pool, id)).toEqual([]);
    expect((await attemptsOf(installation.pool, id)).filter((line) => line === 'publish done')).toHaveLength(1);
  }
}

async function crashesOf(among: readonly string[]): Promise<number> {
  const attempts = await Promise.all(among.map((id) => attemptsOf(installation.pool, id)));
  return attempts.flat().filter((line) => line === 'publish crash').length;
}

describe('a worker that is killed while it and its rivals publish one skill', () => {
  it.each([
    ['before it has the skill', 'skills'],
    ['before its version is written', 'skill_versions'],
  ])(
    '%s: each has its version, one after the other',
    async (_, table) => {
      const held = await lock(table);
      const rivals = await submitVersions(RIVALS);
      await kill(await publisherAt(table));
      await release(held);

      await expectInOrder();
      expect(await crashesOf(rivals)).toBeGreaterThanOrEqual(1);
    },
    300_000,
  );

  it('after its version is written, before the move: each has its version, one after the other', async () => {
    const versions = await lock('skill_versions');
    const rivals = await submitVersions(RIVALS);
    await publisherAt('skill_versions');
    const trail = await lock('audit');
    await release(versions);
    await kill(await publisherAt('audit'));
    await release(trail);

    await expectInOrder();
    expect(await crashesOf(rivals)).toBeGreaterThanOrEqual(1);
  }, 300_000);

  it('before COMMIT: it is published by another one', async () => {
    const versions = await lock('skill_versions');
    const [id = ''] = await submitVersions(1);
    const worker = await publisherAt('skill_versions');
    const held = installation.wires.workersToPostgres.holdBack((request) => request.includes('COMMIT'));
    await release(versions);
    await held;
    expect(await itemOf(installation.pool, id)).toMatchObject({ state: 'AUTO_APPROVED' });
    await kill(worker);
    installation.wires.workersToPostgres.heal();

    await expectInOrder();
    expect(await crashesOf([id])).toBe(1);
  }, 300_000);

  it('after COMMIT, before it knows: it is published, and nobody publishes it again', async () => {
    const versions = await lock('skill_versions');
    const [id = ''] = await submitVersions(1);
    const worker = await publisherAt('skill_versions');
    const { lost } = installation.wires.workersToPostgres.loseAnswer((request) => request.includes('COMMIT'));
    await release(versions);
    await lost;
    expect(await itemOf(installation.pool, id)).toMatchObject({ state: 'PUBLISHED' });
    await kill(worker);

    await expectInOrder();
    expect(await crashesOf([id])).toBe(0);
  }, 300_000);
});
