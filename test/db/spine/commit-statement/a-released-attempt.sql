-- The commit of a released attempt.

WITH item AS (
      SELECT id, priority FROM items
      WHERE id = $1 AND visit = $2 AND state = $3
        AND epoch = $4 AND coalesce(ended_at, 'infinity') = 'infinity'
      FOR SHARE
    ),
guard AS (
      UPDATE tasks t SET status = $5, outcome = $6, note = NULL::jsonb, token = NULL, isolated = false, recovering = true FROM item
      WHERE t.item_id = $1 AND t.visit = $2 AND t.stage = $7 AND t.unit = $8
        AND t.fence = $9 AND t.claim_id = $10 AND t.status || '' = 'running'
      RETURNING t.item_id, t.visit, t.stage, t.unit, t.attempt, t.fence, t.worker, t.started_at
    ),
ended AS (
      INSERT INTO attempts (item_id, pipeline, visit, stage, unit, attempt, fence, worker, started_at, result, outcome, error_class, error_message)
      SELECT item_id, $11, visit, stage, unit, attempt, fence, worker, started_at, $12,
        NULL::text,
        NULL::text, NULL::text FROM guard
    ) SELECT item.priority FROM guard, item;
-- $1 = 'the item'
-- $2 = 1
-- $3 = 'READING'
-- $4 = 1
-- $5 = 'waiting'
-- $6 = null
-- $7 = 'read'
-- $8 = ''
-- $9 = 1
-- $10 = '00000000-0000-4000-8000-000000000001'
-- $11 = 'straight'
-- $12 = 'superseded'
