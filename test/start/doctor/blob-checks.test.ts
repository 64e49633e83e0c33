import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { blobChecks } from '../../../src/start/doctor/blob-checks.js';
import type { Finding, Patient } from '../../../src/start/doctor/check.js';
import { loadConfig } from '../../../src/start/parts/from-domains.js';
import { createTestDatabase, type TestDatabase } from '../../support/postgres.js';
import { freePort } from '../../support/free-port.js';
import { tempDir } from '../temp-dir.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

async function examine(name: string, environment: Record<string, string>): Promise<Finding | undefined> {
  const patient = { config: loadConfig(environment), pool: database.pool } as unknown as Patient;
  return blobChecks.find((check) => check.name === name)?.run(patient);
}

describe('the check of the blob store', () => {
  it('proves a folder, and makes it', async () => {
    const folder = join(tempDir(), 'blobs');

    expect(await examine('blob store', { BLOB_FOLDER: folder })).toEqual({
      level: 'ok',
      says: `Blobs can be written, read and deleted in ${folder}.`,
    });
  });

  it('makes no data folder before npm start does', async () => {
    const dataDir = join(tempDir(), 'later');

    expect(await examine('blob store', { DATA_DIR: dataDir })).toEqual({
      level: 'warning',
      says: `${dataDir}, where blobs are kept, is not there yet.`,
      remedy: 'npm start makes it.',
    });
  });

  it('names a folder that cannot be one, and the remedy', async () => {
    const folder = join(tempDir(), 'blobs');
    writeFileSync(folder, '');

    expect(await examine('blob store', { BLOB_FOLDER: folder })).toMatchObject({
      level: 'problem',
      says: expect.stringContaining(`Blobs cannot be kept in ${folder} (`) as string,
      remedy: expect.stringContaining('BLOB_FOLDER') as string,
    });
  });

  it('names a bucket that does not answer, and no secret', { timeout: 60_000 }, async () => {
    const endpoint = `http://127.0.0.1:${await freePort()}`;
    const keys = { S3_ACCESS_KEY_ID: 'somebody', S3_SECRET_ACCESS_KEY: 'hidden' };
    const named = { BLOB_STORE: 's3', S3_BUCKET: 'blobs', S3_REGION: 'here', S3_ENDPOINT: endpoint, ...keys };

    const finding = await examine('blob store', named);

    expect(finding).toMatchObject({
      level: 'problem',
      says: expect.stringContaining(`Blobs cannot be kept in the S3 bucket blobs at ${endpoint} (`) as string,
    });
    expect(JSON.stringify(finding)).not.toContain('hidden');
  });
});

describe('the check of the blob folder', () => {
  beforeEach(() => database.pool.query('DELETE FROM workers'));

  async function addWorker(host: string): Promise<void> {
    await database.pool.query(
      `INSERT INTO workers (id, name, host, pid, build, pipelines, lock_key, seen_at)
       VALUES ($1, 'worker-1', $2, 17, 'test', '{canary}', $3, now())`,
      [randomUUID(), host, Math.floor(Math.random() * 1_000_000)],
    );
  }

  it('is content where all workers run on this machine', async () => {
    await addWorker(hostname());

    expect(await examine('blob folder', {})).toMatchObject({ level: 'ok' });
  });

  it('warns where each machine has a folder of its own', async () => {
    await addWorker('elsewhere');

    expect(await examine('blob folder', {})).toMatchObject({
      level: 'warning',
      says: 'Workers run on elsewhere too, and each machine keeps blobs in a folder of its own.',
    });
  });

  it('says that a folder which was named must be shared, and asks nothing of a store in a cloud', async () => {
    await addWorker('elsewhere');
    const cloud = { BLOB_STORE: 's3', S3_BUCKET: 'blobs', S3_REGION: 'here' };

    expect(await examine('blob folder', { BLOB_FOLDER: '/shared' })).toMatchObject({
      level: 'ok',
      says: '/shared must be the same shared folder here and on elsewhere.',
    });
    expect(await examine('blob folder', cloud)).toMatchObject({ level: 'ok' });
  });
});
