import type pg from 'pg';
import { say } from '../../../../bench/compare.js';
import { median, quantile } from '../../../../bench/quantile.js';
import { type BenchServer, withServer } from '../../../../bench/server.js';
import { readsOf } from '../../../../bench/sweep-reads.js';
import { createPool } from '../../../../src/db/postgres/client.js';
import { rescueItem } from '../../../../src/db/spine/control.js';
import { noteAccepted } from '../../../../src/db/spine/due.js';
import { SYSTEM } from '../../../../src/db/spine/transition.js';
import { blobPrefixOf } from '../../../../src/domains/file/db/blob-key.js';
import { readAbandoned, readFileFigures } from '../../../../src/domains/file/db/dashboard.js';
import { findOrphanReport } from '../../../../src/domains/file/db/orphan-scans.js';
import {
  countStuckFiles,
  findRetriedFile,
  listStuckFiles,
  listToRetry,
} from '../../../../src/domains/file/db/stuck-files.js';
import { file } from '../../../../src/domains/file/table.js';
import { textTable } from '../../../audit/text-table.js';
import { type BenchApp, openBenchApp } from './dashboard-app.js';
import { type FileScene, HEAVY, HEAVY_STUCK, MEASURED, openFileScene } from './dashboard-data.js';

const FILES = Number(process.env['BENCH_ITEMS'] ?? 1_000_000);
const REPEATS = Number(process.env['BENCH_REPEATS'] ?? 200);

/** A route may take so many times as long as its bare statements. */
const RATIO_GOAL = 3;
/** With ten times the files of others a route may read so many times the rows. */
const ROWS_GOAL = 1.3;
const P99_GOAL_MS = 200;

const DAY_MS = 86_400_000;
/** The page that the route shows unless it is asked for another. */
const SHOWN = 50;

interface Measured {
  name: string;
  p50: number;
  p99: number;
  /** Null: the answer comes from the cache, or there is no bare statement to hold it against. */
  bare: number | null;
  rows: { few: number; many: number } | null;
}

/** Each route of the dashboard with a million files of others in the database: against its bare statements, and in what it reads with
 *  a tenth of them. Then all stuck files of an owner are retried at once. The engine is a fake. */
export async function benchmark(): Promise<boolean> {
  return withServer(measure);
}

interface Side {
  scene: FileScene;
  pool: pg.Pool;
  app: BenchApp;
}

async function measure(server: BenchServer): Promise<boolean> {
  const few = await openSide(server, 'few', Math.round(FILES / 10));
  const many = await openSide(server, 'many', FILES);
  await server.session.query('CHECKPOINT');
  const measured = [
    await measureRoute(server, { few, many }, 'dashboard', () => readFileFigures(many.pool, file, MEASURED)),
    await measureRoute(server, { few, many }, 'stuck', () =>
      Promise.all([
        listStuckFiles(many.pool, file, { owner: MEASURED, behind: null, limit: SHOWN + 1 }),
        countStuckFiles(many.pool, file, MEASURED),
      ]),
    ),
    await measureRoute(server, { few, many }, 'orphans', () =>
      Promise.all([findOrphanReport(many.pool, blobPrefixOf(MEASURED)), readAbandoned(many.pool, MEASURED, DAY_MS)]),
    ),
    await measureRetry(many),
    ...(await measureCached(many)),
  ];
  const all = await measureRetryAll(many);
  for (const line of tableOf(measured)) say(line);
  say(
    `retry-all: ${all.retriedCount} of ${HEAVY_STUCK} counted in ${all.ms.toFixed(0)} ms, rows right: ${String(all.areRight)}`,
  );
  const met = measured.every(isMet) && all.retriedCount === HEAVY_STUCK && all.areRight;
  say(JSON.stringify({ benchmark: 'dashboard', met, files: FILES, measured, retryAll: all }));
  return met;
}

async function openSide(server: BenchServer, name: string, files: number): Promise<Side> {
  const scene = await openFileScene(server.url, name, files);
  server.stops.push(() => scene.control.end());
  const pool = createPool({ url: scene.url, size: 4, name: `bench ${name}` });
  const app = await openBenchApp(pool, { sub: MEASURED, roles: ['user'] }, 0);
  server.stops.push(async () => {
    await app.close();
    await pool.end();
  });
  return { scene, pool, app };
}

async function timesOf(act: (n: number) => Promise<unknown>, repeats = REPEATS): Promise<number[]> {
  for (let n = 0; n < 5; n += 1) await act(n);
  const times: number[] = [];
  for (let n = 5; n < repeats + 5; n += 1) {
    const begunAt = performance.now();
    await act(n);
    times.push(performance.now() - begunAt);
  }
  return times;
}

async function measureRoute(
  server: BenchServer,
  { few, many }: { few: Side; many: Side },
  name: string,
  bare: () => Promise<unknown>,
): Promise<Measured> {
  const url = `/api/v2/uploads/${name}`;
  const rowsOf = async (side: Side): Promise<number> => {
    const work = async () => void (await side.app.call('GET', url));
    const count = () => readsOf({ ...side.scene, finished: 0 }, { server: server.session, pool: side.pool, work });
    // Sessions keep their counts until they are flushed, which the first count does: it has those of earlier work too.
    await count();
    const reads = await count();
    return Object.values(reads.rows).reduce((sum, each) => sum + each, 0);
  };
  const rows = { few: await rowsOf(few), many: await rowsOf(many) };
  const times = await timesOf(() => many.app.call('GET', url));
  return { name, p50: median(times), p99: quantile(times, 0.99), bare: median(await timesOf(bare)), rows };
}

/** The bare side is the rescue of another stuck file. */
async function measureRetry({ app, pool }: Side): Promise<Measured> {
  const ids = (await listToRetry(pool, file, { owner: MEASURED, behind: null, limit: 200 })).map(({ id }) => id);
  const half = Math.floor(ids.length / 2);
  const [asked, bare] = [ids.slice(0, half), ids.slice(half)];
  const times = await timesOf((n) => app.call('POST', `/api/v2/uploads/stuck/${asked[n] ?? ''}/retry`), half - 5);
  const bareTimes = await timesOf((n) => rescueBare(pool, bare[n] ?? ''), half - 5);
  return { name: 'retry', p50: median(times), p99: quantile(times, 0.99), bare: median(bareTimes), rows: null };
}

/** The statements of the route, without its look at the item's whole record. */
async function rescueBare(pool: pg.Pool, id: string): Promise<void> {
  await findRetriedFile(pool, { id, owner: MEASURED });
  const { epoch } = await rescueItem(pool, () => file, { itemId: id, actor: SYSTEM });
  await noteAccepted(pool, { itemId: id, epoch });
  await findRetriedFile(pool, { id, owner: MEASURED });
}

async function measureCached({ pool }: Side): Promise<Measured[]> {
  const app = await openBenchApp(pool, { sub: MEASURED, roles: ['admin'] }, 300);
  try {
    const measured: Measured[] = [];
    for (const [name, query] of Object.entries({ 'dashboard, cached': '', 'dashboard of all, cached': '?owner=all' })) {
      const begunAt = performance.now();
      await app.call('GET', `/api/v2/uploads/dashboard${query}`);
      const firstMs = performance.now() - begunAt;
      const times = await timesOf(() => app.call('GET', `/api/v2/uploads/dashboard${query}`));
      measured.push({
        name: `${name} (first ${firstMs.toFixed(0)} ms)`,
        p50: median(times),
        p99: quantile(times, 0.99),
        bare: null,
        rows: null,
      });
    }
    return measured;
  } finally {
    await app.close();
  }
}

async function measureRetryAll({
  pool,
  scene,
}: Side): Promise<{ retriedCount: number; ms: number; areRight: boolean }> {
  const app = await openBenchApp(pool, { sub: HEAVY, roles: ['user'] }, 0);
  try {
    const begunAt = performance.now();
    const { retriedCount } = JSON.parse(await app.call('POST', '/api/v2/uploads/stuck/retry-all')) as {
      retriedCount: number;
    };
    const ms = performance.now() - begunAt;
    const { rows } = await scene.control.query<{ right: number }>(
      `SELECT count(*)::int AS right FROM items i WHERE owner = $1 AND state = 'queued' AND rescues = 1 AND epoch = 2 AND NOT started
         AND start_after IS NOT NULL AND EXISTS (SELECT 1 FROM receipts r WHERE r.item_id = i.id)`,
      [HEAVY],
    );
    return { retriedCount, ms, areRight: rows[0]?.right === HEAVY_STUCK };
  } finally {
    await app.close();
  }
}

function isMet({ p50, p99, bare, rows }: Measured): boolean {
  const isNearBare = bare === null || p50 <= RATIO_GOAL * bare;
  return p99 < P99_GOAL_MS && isNearBare && (rows === null || rows.many <= ROWS_GOAL * rows.few);
}

function tableOf(measured: readonly Measured[]): string[] {
  const ms = (value: number): string => value.toFixed(1);
  return textTable(
    ['route', 'p50 ms', 'p99 ms', 'bare p50 ms', 'times', 'rows read', 'with a tenth', 'goals'],
    measured.map((each) => [
      ...[each.name, ms(each.p50), ms(each.p99), each.bare === null ? '' : ms(each.bare)],
      each.bare === null ? '' : (each.p50 / each.bare).toFixed(2),
      ...[each.rows?.many ?? '', each.rows?.few ?? '', isMet(each) ? 'met' : 'MISSED'],
    ]),
  );
}
