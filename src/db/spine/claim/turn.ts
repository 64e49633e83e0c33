import { findRow, stagesIn } from '../../../core/machine.js';
import type { Pipeline } from '../../../core/pipeline.js';
import type { Sql } from '../../../ports/sql.js';
import type { Attempt } from '../attempt.js';

/** The stages that must have ended before the turn of another stage comes. */
export interface Earlier {
  single: string[];
  /** Those with units. */
  spread: string[];
}

/** The stages that come before this one in its state. Null: the table has no such stage there, or has it no longer. */
export function stagesBefore(pipeline: Pipeline, { state, stage }: Attempt): Earlier | null {
  const row = findRow(pipeline, state);
  const stages = row ? stagesIn(row) : [];
  const at = stages.findIndex((each) => each.stage === stage);
  if (at === -1) return null;
  const before = stages.slice(0, at);
  return {
    single: before.filter((each) => !each.fanOut).map((each) => each.stage),
    spread: before.filter((each) => each.fanOut).map((each) => each.stage),
  };
}

/** The condition that every stage before has ended. The table may have changed since the run was told its step, and a stage that was
 *  put in front must not be left out. */
export function turnCondition(single: string, spread: string): string {
  return `
    (SELECT count(*) FROM tasks WHERE item_id = $1 AND visit = $2 AND stage = ANY (${single}::text[]) AND unit = ''
       AND status = ANY (ARRAY['done', 'failed'])) = cardinality(${single}::text[])
    AND NOT EXISTS (SELECT 1 FROM tasks WHERE item_id = $1 AND visit = $2 AND stage = ANY (${spread}::text[]) AND unit <> ''
       AND status = ANY (ARRAY['waiting', 'running']))`;
}

export async function isItsTurn(transaction: Sql, attempt: Attempt, { single, spread }: Earlier): Promise<boolean> {
  if (single.length + spread.length === 0) return true;
  const { rows } = await transaction.query<{ turn: boolean }>(`SELECT ${turnCondition('$3', '$4')} AS turn`, [
    attempt.itemId,
    attempt.visit,
    single,
    spread,
  ]);
  return rows[0]?.turn ?? false;
}
