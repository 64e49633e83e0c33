import type pg from 'pg';
import { startInstallation } from '../test/support/installation.js';
import { until } from '../test/support/until.js';
import { say } from './compare.js';
import { median } from './quantile.js';

const ITEMS = Number(process.env['BENCH_ITEMS'] ?? 10_000);
const ROUNDS = Number(process.env['BENCH_REPEATS'] ?? 2);

/** Of the rate at which new items start. */
const GOAL = 0.5;

/** A round that takes longer has failed. */
const WITHIN_MS = 900_000;

type Kind = 'new' | 'lost';

/** Canaries that must be started for the first time, and canaries whose runs Temporal does not have because its store was lost, in
 *  turn: how many of them a worker takes up in a second. A whole installation with two workers does it; only the rows are generated. */
export async function benchmark(): Promise<boolean> {
  const installation = await startInstallation();
  try {
    const rates: Record<Kind, number[]> = { new: [], lost: [] };
    await rateOf(installation.pool, 'new', 'warm-up', Math.ceil(ITEMS / 20));
    for (let round = 1; round <= ROUNDS; round += 1) {
      const order: Kind[] = round % 2 === 0 ? ['lost', 'new'] : ['new', 'lost'];
      for (const kind of order) rates[kind].push(await rateOf(installation.pool, kind, `${kind}-${round}`, ITEMS));
      say(`round ${round} of ${ROUNDS}: ${lineOf(rates)}`);
    }
    const ratio = median(rates.lost.map((each, at) => each / (rates.new[at] ?? NaN)));
    const met = ratio >= GOAL;
    say(`items that Temporal lost move again at ${ratio.toFixed(2)} of the rate of new items (goal: ${GOAL} or more)`);
    say(JSON.stringify({ benchmark: 'lost', met, items: ITEMS, rounds: ROUNDS, ratio, rates }));
    return met;
  } finally {
    await installation.stop();
  }
}

function lineOf(rates: Record<Kind, number[]>): string {
  return Object.entries(rates)
    .map(([kind, each]) => `${kind} ${(each.at(-1) ?? NaN).toFixed(1)} a second`)
    .join(', ');
}

/** Items taken up in a second, from the first to the last. Comes back when all have ended, so that the next round has the machine. */
async function rateOf(pool: pg.Pool, kind: Kind, owner: string, items: number): Promise<number> {
  await pool.query(kind === 'new' ? NEW_ITEMS : LOST_ITEMS, [owner, items]);
  const epoch = kind === 'new' ? 1 : 2;
  let firstAt: number | undefined;
  const lastAt = await until(
    `${items} items of ${owner} are taken up`,
    async () => {
      const taken = await countOf(pool, 'owner = $1 AND started AND epoch >= $2', [owner, epoch]);
      if (taken > 0) firstAt ??= performance.now();
      return taken >= items ? performance.now() : null;
    },
    WITHIN_MS,
  );
  const areEnded = async () => (await countOf(pool, `owner = $1 AND state = 'DONE'`, [owner])) === items || null;
  await until(`${items} items of ${owner} are done`, areEnded, WITHIN_MS);
  return (items / (lastAt - (firstAt ?? NaN))) * 1_000;
}

async function countOf(pool: pg.Pool, condition: string, values: unknown[]): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(`SELECT count(*)::int FROM items WHERE ${condition}`, values);
  return rows[0]?.count ?? NaN;
}

/** Canaries whose stages take no time. */
function canariesWith(columns: string, values: string): string {
  return `WITH made AS (
      INSERT INTO items (id, pipeline, owner, state, ${columns})
      SELECT uuidv7(), 'canary', $1, 'FIRST', ${values} FROM generate_series(1, $2::int) RETURNING id)
    INSERT INTO canaries (id, stage_ms, units, decision, faults) SELECT id, '{0,0,0}', 0, false, '[]' FROM made`;
}

const NEW_ITEMS = canariesWith('start_after', 'now()');
const AN_HOUR_AGO = `now() - interval '1 hour'`;
const LOST_ITEMS = canariesWith('started, accepted_at, beat_at', `true, ${AN_HOUR_AGO}, ${AN_HOUR_AGO}`);
