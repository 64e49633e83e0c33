import { createPool } from '../src/db/postgres/client.js';
import { liveIds, stickAgain, stuckIds } from './sweep-data.js';
import { createSweeper, engineInMemory } from './sweep-once.js';

/** Sweeps back to back from `sweep` until `stop`, and then says how often. */
const [url = ''] = process.argv.slice(2);
const pool = createPool({ url, size: 10, name: 'sweeper' });
const stuck = await stuckIds(pool);
const sweep = createSweeper(pool, engineInMemory(stuck, await liveIds(pool)));

let isWanted = false;
async function sweepOn(): Promise<void> {
  let sweeps = 0;
  while (isWanted) {
    await stickAgain(pool, stuck);
    await sweep();
    sweeps += 1;
  }
  process.send?.(sweeps);
}

process.on('message', (told) => {
  isWanted = told === 'sweep';
  if (isWanted) void sweepOn();
});
process.once('disconnect', () => {
  process.exit(0);
});
process.send?.('ready');
