-- The commit of a stage that saves by a function.

BEGIN;

WITH item AS (
      SELECT id, priority FROM items
      WHERE id = $1 AND visit = $2 AND state = $3
        AND epoch = $4 AND coalesce(ended_at, 'infinity') = 'infinity'
      FOR NO KEY UPDATE
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
    ) SELECT item.priority FROM guard, item;
-- $1 = 'the item'
-- $2 = 1
-- $3 = 'READING'
-- $4 = 1
-- $5 = 'done'
-- $6 = 'done'
-- $7 = '{"pages":3}'
-- $8 = 'read'
-- $9 = ''
-- $10 = 1
-- $11 = '00000000-0000-4000-8000-000000000001'
-- $12 = 'straight'
-- $13 = 'done'
-- $14 = 'done'

INSERT INTO canary_effects (item_id, visit, stage, attempt) VALUES ($1, $2, $3, $4);
-- $1 = 'the item'
-- $2 = 1
-- $3 = 'read'
-- $4 = 1

UPDATE tasks SET note = COALESCE(note, '{}') || $5::jsonb
     WHERE item_id = $1 AND visit = $2 AND stage = $3 AND unit = $4;
-- $1 = 'the item'
-- $2 = 1
-- $3 = 'read'
-- $4 = ''
-- $5 = '{"number":7}'

WITH guard AS (
      SELECT id AS item_id FROM items
      WHERE id = $1 AND state = $2
        AND visit = $3 AND epoch = $4
      FOR NO KEY UPDATE
    ), moved AS (
      UPDATE items i SET version = i.version + 1, updated_at = now(), state = $5, entered_at = now(), beat_at = now(), error_class = NULL, error_message = NULL, error_stage = NULL
      FROM guard WHERE i.id = guard.item_id
      RETURNING i.id, i.owner, i.version, i.visit, i.epoch
    ), entry AS (
      INSERT INTO audit (item_id, pipeline, owner, version, visit, epoch, from_state, to_state, trigger, actor, actor_type, metadata)
      SELECT id, $6, owner, version, visit, epoch, $7, $8, $9,
        $10, $11, $12::jsonb
      FROM moved
    )
    SELECT version, visit, epoch FROM moved;
-- $1 = 'the item'
-- $2 = 'READING'
-- $3 = 1
-- $4 = 1
-- $5 = 'CHECKING'
-- $6 = 'straight'
-- $7 = 'READING'
-- $8 = 'CHECKING'
-- $9 = 'read-done'
-- $10 = 'worker'
-- $11 = 'worker'
-- $12 = '{"pages":3,"attempt":1,"number":7}'

COMMIT;
