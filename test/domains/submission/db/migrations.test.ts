import { randomUUID } from 'node:crypto';
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { migrate } from '../../../../src/db/postgres/migrate.js';
import { onServer, urlOfDatabase } from '../../../support/postgres.js';

const OURS = resolve(import.meta.dirname, '../../../../prisma/migrations');
const NAMES_IN_ANY_CASE = '20261116180200_names_in_any_case';
const DISCOVERY_OWNER = '20261118091000_discovery_owner';

let name: string;
let url: string;
let dir: string;
let client: pg.Client;
beforeEach(async () => {
  name = `migrate_${randomUUID().replaceAll('-', '')}`;
  await onServer(inject('databaseUrl'), `create database ${name}`);
  url = urlOfDatabase(inject('databaseUrl'), name);
  dir = mkdtempSync(join(tmpdir(), 'migrations-'));
  client = new pg.Client({ connectionString: url });
  await client.connect();
});
afterEach(async () => {
  await client.end();
  rmSync(dir, { recursive: true });
  await onServer(inject('databaseUrl'), `drop database ${name} with (force)`);
});

async function migrateBefore(migration: string): Promise<void> {
  const earlier = readdirSync(OURS).filter((each) => /^\d/.test(each) && each < migration);
  for (const each of earlier) cpSync(join(OURS, each), join(dir, each), { recursive: true });
  await migrate(url, dir);
}

describe('the migration of the owner of discovered skills', () => {
  it('renames the owner of what discovery submitted, and of nothing else', async () => {
    await migrateBefore(DISCOVERY_OWNER);
    await client.query(
      `WITH given (trigger, owner) AS (VALUES ('npm-discovery', 'discovery'), ('api-submission', 'discovery'), ('api-submission', 'ada')),
         made AS (INSERT INTO items (id, pipeline, owner, state, dedupe_key)
           SELECT gen_random_uuid(), 'submission', owner, trigger, trigger || owner FROM given RETURNING id, state)
       INSERT INTO audit (item_id, pipeline, version, visit, epoch, to_state, trigger, actor, actor_type)
       SELECT id, 'submission', 1, 1, 1, 'RECEIVED', state, 'system', 'system' FROM made`,
    );

    await migrate(url, OURS);

    const { rows } = await client.query<{ owner: string }>('SELECT owner FROM items ORDER BY owner');
    expect(rows.map((item) => item.owner)).toEqual(['ada', 'discovery', 'unstuck:discovery']);
  });
});

describe('the migration to names in any case', () => {
  it('leaves a name to the first skill that had it, and appends the id to the names of the others', async () => {
    await migrateBefore(NAMES_IN_ANY_CASE);
    await client.query(
      `INSERT INTO skills (id, name, repo_url, skill_name, published_at)
       SELECT gen_random_uuid(), name, 'https://github.com/a/' || name, name, now() + n * interval '1 second'
       FROM unnest(ARRAY['Tidy', 'tidy', 'TIDY', 'other']) WITH ORDINALITY AS given (name, n)`,
    );

    await migrate(url, OURS);
    const { rows } = await client.query<{ name: string }>(
      `SELECT replace(name, id::text, 'id') AS name FROM skills ORDER BY published_at`,
    );
    expect(rows.map((skill) => skill.name)).toEqual(['Tidy', 'tidy-id', 'TIDY-id', 'other']);
    const clash = client.query(`UPDATE skills SET name = 'OTHER' WHERE name = 'Tidy'`);
    await expect(clash).rejects.toThrow('duplicate key');
  });
});
