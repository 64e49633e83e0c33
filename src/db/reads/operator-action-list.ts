import type pg from 'pg';
import type { OperatorAction } from '../generated/client.js';
import { Parameters } from '../postgres/parameters.js';

export interface OperatorActionFilter {
  target?: string | undefined;
  actor?: string | undefined;
  action?: string | undefined;
  /** Done at this time or later. */
  since?: Date | undefined;
  /** Done before this time. */
  until?: Date | undefined;
}

export type ListedAction = Omit<OperatorAction, 'id'> & { id: string };

/** Lists the newest first. `before` is the id of the last action of the page before. Filters other than the target walk the
 *  primary key, which is short: people write these rows by hand, some a day. */
export async function listOperatorActions(
  pool: pg.Pool,
  filter: OperatorActionFilter,
  page: { before: string | null; limit: number },
): Promise<ListedAction[]> {
  const p = new Parameters();
  const conditions = ['true'];
  for (const column of ['target', 'actor', 'action'] as const) {
    const value = filter[column];
    if (value !== undefined) conditions.push(`${column} = ${p.add(value)}`);
  }
  if (filter.since !== undefined) conditions.push(`at >= ${p.add(filter.since)}`);
  if (filter.until !== undefined) conditions.push(`at < ${p.add(filter.until)}`);
  if (page.before !== null) conditions.push(`id < ${p.add(page.before)}::bigint`);
  const { rows } = await pool.query<ListedAction>(
    `SELECT id::text AS id, action, target, reason, actor, actor_type AS "actorType", metadata, at FROM operator_actions
     WHERE ${conditions.join(' AND ')} ORDER BY operator_actions.id DESC LIMIT ${p.add(page.limit)}`,
    p.values,
  );
  return rows;
}
