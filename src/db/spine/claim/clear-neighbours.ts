import { deathsOf } from '../../../core/deaths.js';
import type { Pipeline } from '../../../core/pipeline.js';
import type { Sql } from '../../../ports/sql.js';
import { type Attempt, taskKey } from '../attempt.js';

/** Forgives the tasks that died beside a poisoned one the worker deaths that it explains, and no other. They need no process of their
 *  own any more, unless such a process has died: deaths of isolated processes had no neighbours. A death that a neighbour's next claim has yet to count is
 *  counted then. Rows that somebody writes at this moment are skipped, because this transaction holds another item's locks; a
 *  skipped task runs in a process of its own. A death that a task shared with two poisoned tasks is
 *  forgiven twice, so the count stops at the deaths of the task's own processes. */
export async function clearNeighbours(transaction: Sql, pipeline: Pipeline, poisoned: Attempt): Promise<void> {
  await transaction.query(CLEAR_NEIGHBOURS, [...taskKey(poisoned), deathsOf(pipeline).suspect]);
}

const CLEAR_NEIGHBOURS = `
  WITH mine AS (
    SELECT worker, started_at, ended_at FROM attempts
    WHERE item_id = $1 AND visit = $2 AND stage = $3 AND unit = $4 AND result = 'crash' AND NOT isolated
  ), shared AS (
    SELECT a.item_id, a.visit, a.stage, a.unit, count(DISTINCT a.id) AS deaths
    FROM attempts a JOIN mine m ON m.worker = a.worker AND a.started_at <= m.ended_at AND a.ended_at >= m.started_at
    WHERE a.result = 'crash' AND NOT a.isolated AND a.ended_at >= (SELECT min(started_at) FROM mine) AND a.item_id <> $1
    GROUP BY a.item_id, a.visit, a.stage, a.unit
  ), neighbour AS (
    SELECT t.item_id, t.visit, t.stage, t.unit, t.own_deaths,
      greatest(t.own_deaths, t.crashes - s.deaths) AS unexplained
    FROM tasks t JOIN shared s USING (item_id, visit, stage, unit) JOIN items i ON i.id = t.item_id AND i.ended_at IS NULL
    WHERE t.status IN ('waiting', 'running') FOR UPDATE OF t SKIP LOCKED
  )
  UPDATE tasks t SET crashes = n.unexplained,
    place_asked_at = CASE WHEN n.unexplained >= $5 OR n.own_deaths > 0 THEN t.place_asked_at END
  FROM neighbour n WHERE (t.item_id, t.visit, t.stage, t.unit) = (n.item_id, n.visit, n.stage, n.unit)`;
