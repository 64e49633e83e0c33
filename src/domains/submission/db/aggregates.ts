import type { AggregateName } from '../core/aggregates.js';
import type { Sql } from '../../../ports/sql.js';
import { storableJson } from '../../../db/postgres/parameters.js';

export interface Aggregate<Figures> {
  figures: Figures;
  computedAt: Date;
  ageMs: number;
}

/** Null: it was never computed. */
export async function findAggregate<Figures>(sql: Sql, name: AggregateName): Promise<Aggregate<Figures> | null> {
  const { rows } = await sql.query<Aggregate<Figures>>(
    `SELECT figures, computed_at AS "computedAt", greatest(0, extract(epoch FROM now() - computed_at) * 1000)::float8 AS "ageMs"
     FROM aggregates WHERE name = $1`,
    [name],
  );
  return rows[0] ?? null;
}

export async function storeAggregate(sql: Sql, name: AggregateName, figures: object): Promise<void> {
  await sql.query(
    `INSERT INTO aggregates (name, figures) VALUES ($1, $2::jsonb)
     ON CONFLICT (name) DO UPDATE SET figures = excluded.figures, computed_at = now()`,
    [name, storableJson(figures)],
  );
}
