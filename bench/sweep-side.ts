import type pg from 'pg';
import { createPool } from '../src/db/postgres/client.js';
import { LIVE, liveIds, type Scene, stickAgain, STUCK, stuckIds } from './sweep-data.js';
import { createSweeper, engineInMemory } from './sweep-once.js';
import { readsOf } from './sweep-reads.js';
import type { Swept } from './sweep-report.js';

type Stops = (() => Promise<void> | void)[];

/** One sweep over the scene after another, each of which finds the same picture. */
export async function sweeperOf(scene: Scene, server: pg.Client, stops: Stops): Promise<() => Promise<Swept>> {
  const pool = createPool({ url: scene.url, size: 10, name: 'sweep' });
  stops.push(() => pool.end());
  const stuck = await stuckIds(scene.control);
  const live = await liveIds(scene.control);
  if (stuck.length !== STUCK || live.length !== LIVE)
    throw new Error(`loaded ${String(live.length)} live items, ${String(stuck.length)} of them stuck`);
  const once = createSweeper(pool, engineInMemory(stuck, live));
  return async () => {
    await stickAgain(scene.control, stuck);
    let ms = NaN;
    const reads = await readsOf(scene, {
      server,
      pool,
      work: async () => {
        const began = performance.now();
        await once();
        ms = performance.now() - began;
      },
    });
    return { ...reads, ms };
  };
}
