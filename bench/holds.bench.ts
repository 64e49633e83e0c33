import { createPool } from '../src/db/postgres/client.js';
import { releaseHeld } from '../src/db/spine/held.js';
import { say } from './compare.js';
import { openHeldScene } from './holds-data.js';
import { type Waits, waitsOfOthers } from './holds-waits.js';
import { median, quantile } from './quantile.js';
import { type BenchServer, withServer } from './server.js';
import type { Scene } from './sweep-data.js';
import { readsOf } from './sweep-reads.js';

const ENDED = Number(process.env['BENCH_ITEMS'] ?? 1_000_000);
const HELD = Number(process.env['BENCH_HELD'] ?? 100_000);
const PAGES = Number(process.env['BENCH_REPEATS'] ?? 30);
const PAGE = 200;

/** How many more rows a page may read with ten times as many ended items. Database pages have no goal: the larger scene has more held
 *  items too, so that the indexes of live items are deeper, and each look into one level more reads one page more. */
const ROWS_GOAL = 1.1;

/** The longest that an item of the other pipeline may wait for its start or its wake. */
const WAIT_GOAL_MS = 5_000;

/** A pause of 100,000 held items is lifted, among a million ended items and among a tenth of them: what a page of released items
 *  reads, and how long the starts and wakes of another pipeline take meanwhile. Temporal is real; the items have no runs. */
export async function benchmark(): Promise<boolean> {
  return withServer(measure);
}

async function measure(server: BenchServer): Promise<boolean> {
  const few = await openHeldScene(server.url, 'few', { ended: Math.round(ENDED / 10), held: PAGE * (PAGES + 2) });
  const many = await openHeldScene(server.url, 'many', { ended: ENDED, held: HELD });
  server.stops.push(...[few, many].map((scene) => () => scene.control.end()));
  await server.session.query('CHECKPOINT');
  const reads = { few: await readsOfPages(server, few), many: await readsOfPages(server, many) };
  const ratios = {
    rows: median(reads.many.rows) / median(reads.few.rows),
    pages: median(reads.many.pages) / median(reads.few.pages),
  };
  say(
    `a page of ${PAGE} released items, ${ENDED} ended and ${ENDED / 10}: rows ${median(reads.many.rows)} and ${median(reads.few.rows)}, ` +
      `pages ${median(reads.many.pages)} and ${median(reads.few.pages)}; ratios ${ratios.rows.toFixed(2)} and ${ratios.pages.toFixed(2)}`,
  );
  say(`levels of the indexes of items: ${await indexLevelsOf(many)}; with a tenth: ${await indexLevelsOf(few)}`);
  const waits = await waitsOfOthers(server, many);
  say(`released: ${waits.releasedPerSecond.toFixed(0)} items a second`);
  for (const when of ['calm', 'meanwhile'] as const) say(`${when}: ${lineOf(waits[when])}`);
  const worst = Math.max(...waits.meanwhile.start, ...waits.meanwhile.wake);
  const met = ratios.rows < ROWS_GOAL && worst < WAIT_GOAL_MS;
  say(
    JSON.stringify({
      benchmark: 'holds',
      met,
      ended: ENDED,
      held: HELD,
      ratios,
      releasedPerSecond: waits.releasedPerSecond,
      calm: figuresOf(waits.calm),
      meanwhile: figuresOf(waits.meanwhile),
    }),
  );
  return met;
}

/** Pages from the root of each index to its leaves. */
async function indexLevelsOf({ control }: Scene): Promise<string> {
  await control.query('CREATE EXTENSION IF NOT EXISTS pageinspect');
  const { rows } = await control.query<{ name: string; levels: number }>(
    `SELECT c.relname AS name, (bt_metap(c.relname)).level::int + 1 AS levels
     FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam
     WHERE i.indrelid = 'items'::regclass AND a.amname = 'btree' ORDER BY 1`,
  );
  return rows.map(({ name, levels }) => `${name} ${levels}`).join(', ');
}

/** What each of some pages read. */
async function readsOfPages(
  { session, stops }: BenchServer,
  scene: Scene,
): Promise<{ rows: number[]; pages: number[] }> {
  const pool = createPool({ url: scene.url, size: 1, name: 'releases' });
  stops.push(() => pool.end());
  const reads = { rows: [] as number[], pages: [] as number[] };
  for (let page = 0; page < PAGES + 1; page += 1) {
    const work = async (): Promise<void> => {
      const released = await releaseHeld(pool, PAGE);
      if (released !== PAGE) throw new Error(`a page released ${released} items instead of ${PAGE}`);
    };
    const { rows, buffers } = await readsOf(scene, { server: session, pool, work });
    // The first page plans its statement.
    if (page === 0) continue;
    reads.rows.push(rows['items'] ?? NaN);
    reads.pages.push(buffers);
  }
  await scene.control.query('UPDATE items SET wake_after = NULL WHERE wake_after IS NOT NULL');
  return reads;
}

function figuresOf({ start, wake }: Waits) {
  const of = (waits: readonly number[]) => ({
    count: waits.length,
    p50: median(waits),
    p95: quantile(waits, 0.95),
    max: Math.max(...waits),
  });
  return { start: of(start), wake: of(wake) };
}

function lineOf(waits: Waits): string {
  return Object.entries(figuresOf(waits))
    .map(([name, { count, p50, p95, max }]) => {
      return `${count} of ${name}, ${p50.toFixed(0)} ms p50, ${p95.toFixed(0)} ms p95, ${max.toFixed(0)} ms at most`;
    })
    .join('; ');
}
