import type pg from 'pg';
import { Parameters } from '../postgres/parameters.js';
import { ROW_FACTS, type RowColumns, type RowFacts, rowFactsOf } from '../recovery/row-facts.js';
import { branchesOf, hitOf, type ItemFilter } from './item-filter.js';

export interface Scan {
  now: Date;
  items: RowFacts[];
  /** The number of examined rows, and how many of them fit the filter. */
  examined: number;
  fitting: number;
  lastId: string | null;
}

export interface ScanBounds {
  before: string | null;
  /** The most rows that are examined, and the most that are returned. */
  examine: number;
  take: number;
}

/** Finds the newest items that fit the filter, with bounded work: an index leads to the rows, and the rest of the
 *  filter is checked on at most `examine` of them. It is one statement, so all rows are of one moment. */
export async function scanItems(pool: pg.Pool, filter: ItemFilter, bounds: ScanBounds): Promise<Scan> {
  const p = new Parameters();
  const examine = p.add(bounds.examine);
  const branches = branchesOf(filter, p).map(
    (conditions) => `(SELECT * FROM items WHERE ${conditions.join(' AND ')}
        ${bounds.before === null ? '' : `AND id < ${p.add(bounds.before)}::uuid`} ORDER BY id DESC LIMIT ${examine})`,
  );
  const { rows } = await pool.query<Row>(
    `WITH scanned AS MATERIALIZED (
       SELECT i.id, ${hitOf(filter, p)} AS hit FROM (${branches.join(' UNION ALL ')}) i ORDER BY i.id DESC LIMIT ${examine}
     ), picked AS (
       SELECT id FROM scanned WHERE hit ORDER BY id DESC LIMIT ${p.add(bounds.take)}
     )
     SELECT now() AS now, (SELECT count(*)::int FROM scanned) AS examined,
       (SELECT count(*)::int FROM scanned WHERE hit) AS fitting,
       (SELECT id FROM scanned ORDER BY id LIMIT 1) AS "lastId",
       (SELECT json_agg(facts ORDER BY id DESC) FROM (
          SELECT i.id, ${ROW_FACTS} FROM picked JOIN items i USING (id)) listed) AS items`,
    p.values,
  );
  const [row] = rows;
  if (!row) throw new Error('a scan has no row');
  return { ...row, items: (row.items ?? []).map((facts) => rowFactsOf({ now: row.now, facts })) };
}

interface Row extends Omit<Scan, 'items'> {
  items: RowColumns['facts'][] | null;
}
