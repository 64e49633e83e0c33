import type pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { projectRoot } from '../../src/config.js';
import type { Claimed } from '../../src/db/attempt.js';
import { beatTask, keepCheckpoint } from '../../src/db/beat.js';
import { createPool } from '../../src/db/client.js';
import { migrate } from '../../src/db/migrate.js';
import { rereadAttempt } from '../../src/db/reread.js';
import { type RunningPostgres, startPostgres } from '../../src/start/embedded-postgres.js';
import { effectsOf, trailFaults } from '../support/facts.js';
import { freePort } from '../support/free-port.js';
import { byHand } from '../support/spine.js';
import { straight } from '../support/tables.js';
import { tempDir } from '../start/temp-dir.js';

/** A server that keeps what nobody waits for in memory, and how it is killed and started again. */
async function startForgetful(): Promise<{ pool: pg.Pool; crash: () => Promise<void> }> {
  const options = {
    dataDir: tempDir(),
    port: await freePort(),
    log: () => undefined,
    settings: { wal_writer_delay: '10s' },
  };
  let server: RunningPostgres = await startPostgres(options);
  onTestFinished(() => server.stop());
  await migrate(server.url, `${projectRoot}/prisma/migrations`);
  const pool = createPool({ url: server.url, size: 2, name: 'worker' });
  onTestFinished(() => pool.end());
  async function crash(): Promise<void> {
    server.kill();
    await server.exited;
    server = await startPostgres(options);
  }
  return { pool, crash };
}

/** Its log writer may have come by in between, once in ten seconds. */
const CRASHES = 3;

it('a claim that the database lost in a crash ends nothing, though the next one has its number', async () => {
  const { pool, crash } = await startForgetful();
  const hand = byHand(pool, straight);
  let [lost, next]: Claimed[] = [];
  for (let crashes = 0; crashes < CRASHES && (!lost || lost.fence !== next?.fence); crashes += 1) {
    const id = await hand.make();
    lost = await hand.claimed(id, { worker: 'before the crash' });
    await crash();
    next = await hand.claimed(id, { worker: 'after the crash' });
  }
  if (!lost || !next) throw new Error('nothing was claimed');
  expect(next.fence).toBe(lost.fence);

  expect(await beatTask(pool, lost, null)).toBe(false);
  expect(await keepCheckpoint(pool, lost, 1)).toBe(false);
  expect(await rereadAttempt(pool, lost)).toBe('superseded');
  expect(await hand.finish(lost)).toEqual({ refused: 'superseded' });
  expect(await hand.finish(next)).toHaveProperty('step');

  expect(await effectsOf(pool, next.itemId)).toHaveLength(1);
  expect(await trailFaults(pool, next.itemId)).toEqual([]);
});
