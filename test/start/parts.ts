import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import type pg from 'pg';
import { inject } from 'vitest';
import { projectRoot } from '../../src/config.js';
import { listVariableNames } from '../../src/start/parts/from-domains.js';
import { freePort } from '../support/free-port.js';
import { nodePart } from '../../src/start/embedded/node-part.js';
import { ensureAdminToken } from '../../src/start/parts/secrets.js';
import { createSupervisor } from '../../src/start/embedded/supervisor.js';
import { whenHealthy } from '../../src/start/embedded/when-healthy.js';
import { ensureSearchAttribute } from '../../src/temporal/search-attributes.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';

/** Settings for a process of ours, of which nothing comes from the tester's environment: an empty value is not set. */
export function settingsOf(told: Record<string, string>): Record<string, string> {
  return { ...Object.fromEntries(listVariableNames().map((name) => [name, ''])), ...told };
}

/** A namespace of its own on the server of the test run: its task queues are nobody else's. */
export async function createNamespace(): Promise<{ name: string; client: Client; close(): Promise<void> }> {
  const connection = await Connection.connect({ address: inject('temporalAddress') });
  const name = `test-${randomUUID()}`;
  await connection.workflowService.registerNamespace({
    namespace: name,
    workflowExecutionRetentionPeriod: msToTs('1 day'),
  });
  return { name, client: new Client({ connection, namespace: name }), close: () => connection.close() };
}

export interface Parts {
  url: string;
  token: string;
  pool: pg.Pool;
  /** Temporal, in the installation's own namespace. */
  client: Client;
  /** What describes this installation to a command. */
  settings: Record<string, string>;
  stop(): Promise<void>;
}

export interface PartsOptions {
  workers: number;
  /** Settings of this installation alone. */
  told?: Record<string, string>;
  /** Instead of a database of its own. It is not dropped at the end. */
  database?: TestDatabase;
  /** Shares the namespace of this installation, which outlives it. */
  beside?: Parts;
}

/** API and workers as real processes on the servers of the test run, supervised as `npm start` does. */
export async function startParts({ workers, told, ...shared }: PartsOptions): Promise<Parts> {
  const dataDir = mkdtempSync(join(tmpdir(), 'unstuck-parts-'));
  const database = shared.database ?? (await createTestDatabase());
  const namespace = shared.beside ? sharedNamespace(shared.beside) : await createNamespace();
  const port = await freePort();
  await ensureSearchAttribute(namespace.client);
  const secret = randomBytes(48).toString('base64url');
  const settings = settingsOf({
    DATABASE_URL: database.url,
    TEMPORAL_ADDRESS: inject('temporalAddress'),
    TEMPORAL_NAMESPACE: namespace.name,
    JWT_SECRET: secret,
    PORT: String(port),
    DATA_DIR: dataDir,
    SHUTDOWN_GRACE_MS: '1000',
    ...told,
  });
  const supervisor = createSupervisor({ say: ignore });
  const kill = (): void => supervisor.kill();
  process.once('exit', kill);
  async function stop(): Promise<void> {
    await supervisor.stop();
    process.off('exit', kill);
    await namespace.close();
    if (!shared.database) await database.drop();
    rmSync(dataDir, { recursive: true, force: true });
  }
  const part = (name: string, script: string) => {
    const path = join(projectRoot, 'dist', 'start', script);
    const environment = { ...settings, WORKER_NAME: name };
    return nodePart({ name, script: path, environment, graceMs: 1_000, log: ignore });
  };
  const names = Array.from({ length: workers }, (_, n) => `worker-${String(n + 1)}`);
  const url = `http://127.0.0.1:${String(port)}`;
  try {
    await supervisor.start([part('api', 'api.js'), ...names.map((name) => part(name, 'worker.js'))]);
    await whenHealthy(url, { needsWorkers: true, say: ignore, signal: AbortSignal.timeout(60_000) });
  } catch (error) {
    await stop();
    throw error;
  }
  const { token } = await ensureAdminToken(dataDir, { secret });
  return { url, token, pool: database.pool, client: namespace.client, settings, stop };
}

function sharedNamespace({ client }: Parts) {
  return { name: client.options.namespace, client, close: () => Promise.resolve() };
}

function ignore(): void {}
