-- The commit of a unit.

WITH item AS (
      SELECT id, priority FROM items
      WHERE id = $1 AND visit = $2 AND state = $3
        AND epoch = $4 AND coalesce(ended_at, 'infinity') = 'infinity'
      FOR SHARE
    ),
guard AS (
      UPDATE tasks t SET status = $5, outcome = $6, note = $7::jsonb, token = NULL, isolated = false, ended_at = now() FROM item
      WHERE t.item_id = $1 AND t.visit = $2 AND t.stage = $8 AND t.unit = $9
        AND t.fence = $10 AND t.claim_id = $11 AND t.status || '' = 'running'
      RETURNING t.item_id, t.visit, t.stage, t.unit, t.attempt, t.fence, t.worker, t.started_at
    ),
ended AS (
      INSERT INTO attempts (item_id, pipeline, visit, stage, unit, attempt, fence, worker, started_at, result, outcome, error_class, error_message)
      SELECT item_id, $12, visit, stage, unit, attempt, fence, worker, started_at, $13,
        $14::text,
        NULL::text, NULL::text FROM guard
    ),
saved AS (INSERT INTO canary_effects (item_id, visit, stage, unit, attempt)
           SELECT guard.item_id, guard.visit, guard.stage, guard.unit, $15::int FROM guard) SELECT item.priority FROM guard, item;
-- $1 = 'the item'
-- $2 = 1
-- $3 = 'PROCESSING'
-- $4 = 1
-- $5 = 'done'
-- $6 = 'done'
-- $7 = '{"pages":3}'
-- $8 = 'upload'
-- $9 = 'a'
-- $10 = 1
-- $11 = '00000000-0000-4000-8000-000000000001'
-- $12 = 'spread-all'
-- $13 = 'done'
-- $14 = 'done'
-- $15 = 1
