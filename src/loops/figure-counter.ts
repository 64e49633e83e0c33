import type pg from 'pg';
import type { Logger } from 'pino';
import { type CountParts, countFigures, type FigureSource } from '../db/recovery/count-figures.js';
import { type Loop, startLoop } from './loop.js';

/** Figures are this late at most while no transaction stays open. The loop is no sweep, because operators want to see the figures
 *  of an hour in which Temporal was away. */
const EVERY_MS = 10_000;

/** A page must end long before the limit of a statement. The rest of a backlog follows at once. */
const PAGE_ROWS = 2_000;

interface FigureCounterDeps extends Omit<CountParts, 'limit'> {
  pool: pg.Pool;
  logger: Logger;
}

/** Adds the attempts, or the moves, of all processes to the figures. Any number of copies may run: one counts at a time, and the
 *  next copy continues where it stopped. */
export function startFigureCounter(source: FigureSource, { pool, logger, ...parts }: FigureCounterDeps): Loop {
  return startLoop({
    everyMs: EVERY_MS,
    name: `figures of ${source}`,
    logger,
    async turn() {
      const counted = await countFigures(pool, source, { ...parts, limit: PAGE_ROWS });
      return counted === 'more' ? 0 : EVERY_MS;
    },
  });
}
