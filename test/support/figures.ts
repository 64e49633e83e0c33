import type pg from 'pg';
import { countFigures, FIGURE_SOURCES } from '../../src/db/recovery/count-figures.js';
import { PIPELINES } from '../../src/domains/tables.js';
import { until } from './until.js';

const DAY_MS = 86_400_000;

export const COUNTING = {
  pipelines: PIPELINES,
  kept: { hourlyMetricsMs: 2 * DAY_MS, dailyMetricsMs: 800 * DAY_MS },
  limit: 1_000,
};

/** Counts all that was committed before. Transactions of other tests' databases hold the horizon back for a moment. */
export async function countAll(pool: pg.Pool, parts: Partial<typeof COUNTING> = {}): Promise<void> {
  const { rows } = await pool.query<{ now: Date }>('SELECT clock_timestamp() AS now');
  const now = rows[0]?.now ?? new Date();
  for (const source of FIGURE_SOURCES) {
    await until(`the figures of ${source} are whole`, async () => {
      await countFigures(pool, source, { ...COUNTING, ...parts });
      const { rows: cursors } = await pool.query<{ isWhole: boolean | null }>(
        'SELECT as_of >= $2 AS "isWhole" FROM figure_cursors WHERE source = $1',
        [source, now],
      );
      return cursors[0]?.isWhole ?? false;
    });
  }
}

/** Figures from here on are those of the test. */
export async function forgetFigures(pool: pg.Pool): Promise<void> {
  await countAll(pool);
  await pool.query('TRUNCATE figures');
}

interface FigureFacts {
  span: string;
  kind: string;
  stage: string;
  outcome: string;
  class: string;
  count: number;
}

export async function figuresOf(pool: pg.Pool, pipeline: string, span = 'total'): Promise<FigureFacts[]> {
  const { rows } = await pool.query<FigureFacts>(
    `SELECT span, kind, stage, outcome, class, count::int FROM figures WHERE pipeline = $1 AND span = $2
     ORDER BY kind, stage, outcome, class`,
    [pipeline, span],
  );
  return rows;
}

/** One line for each figure of a kind: `read error NETWORK_ERROR 2`. */
export async function figureLines(pool: pg.Pool, pipeline: string, kind: string, span = 'total'): Promise<string[]> {
  const figures = (await figuresOf(pool, pipeline, span)).filter((each) => each.kind === kind);
  return figures.map((each) =>
    [each.stage, each.outcome, each.class, String(each.count)].filter((word) => word !== '').join(' '),
  );
}
