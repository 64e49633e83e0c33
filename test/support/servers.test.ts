import { readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import pg from 'pg';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { createTestDatabase } from './postgres.js';
import { connectTemporal } from './temporal.js';

describe('the database of a test', () => {
  it('has every migration applied', async () => {
    const { pool, drop } = await createTestDatabase();
    onTestFinished(drop);

    const { rows } = await pool.query('select migration_name from _prisma_migrations where finished_at is not null');

    const folder = resolve(import.meta.dirname, '../../prisma/migrations');
    const folders = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    expect(rows).toHaveLength(folders.length);
    expect(rows).toEqual(expect.arrayContaining(folders.map(({ name }) => ({ migration_name: name }))));
  });

  it('is not seen by another', async () => {
    const [one, other] = await Promise.all([createTestDatabase(), createTestDatabase()]);
    for (const { drop } of [one, other]) onTestFinished(drop);

    await one.pool.query('create table only_here ()');

    const { rows } = await other.pool.query<{ found: string | null }>(`select to_regclass('only_here') as found`);
    expect(rows).toEqual([{ found: null }]);
  });

  it('is gone after drop, even when somebody is connected', async () => {
    const { url, drop } = await createTestDatabase();
    const straggler = new pg.Client({ connectionString: url });
    const cutOff = new Promise<Error>((resolve) => straggler.on('error', resolve));
    await straggler.connect();

    await drop();

    expect(await cutOff).toHaveProperty('message', expect.stringContaining('terminat'));
    await expect(new pg.Client({ connectionString: url }).connect()).rejects.toThrow(/does not exist/);
  });
});

describe('the Temporal of the test run', () => {
  it('answers clients and workers, and knows the search attribute', async () => {
    const { address, client, nativeConnection, close } = await connectTemporal();
    onTestFinished(close);

    expect(address).toBe(inject('temporalAddress'));
    await expect(nativeConnection.workflowService.getSystemInfo({})).resolves.toHaveProperty('serverVersion');
    const namespace = { namespace: 'default' };
    const { customAttributes } = await client.connection.operatorService.listSearchAttributes(namespace);
    expect(customAttributes).toHaveProperty('Pipeline');
  });
});
