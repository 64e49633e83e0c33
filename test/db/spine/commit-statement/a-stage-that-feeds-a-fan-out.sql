-- The commit of a stage that feeds a fan-out.

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
    ),
saved AS (INSERT INTO canary_effects (item_id, visit, stage, unit, attempt)
           SELECT guard.item_id, guard.visit, guard.stage, guard.unit, $15::int FROM guard),
fed AS (
      INSERT INTO tasks (item_id, visit, stage, unit, position)
      SELECT guard.item_id, guard.visit, $16, u.unit, u.position
      FROM guard, unnest($17::text[]) WITH ORDINALITY AS u (unit, position)
      ON CONFLICT DO NOTHING
    ),
moved AS (
      UPDATE items i SET version = i.version + 1, updated_at = now(), state = $18, entered_at = now(), beat_at = now(), error_class = NULL, error_message = NULL, error_stage = NULL
      FROM guard WHERE i.id = guard.item_id
      RETURNING i.id, i.owner, i.version, i.visit, i.epoch
    ), entry AS (
      INSERT INTO audit (item_id, pipeline, owner, version, visit, epoch, from_state, to_state, trigger, actor, actor_type, metadata)
      SELECT id, $19, owner, version, visit, epoch, $20, $21, $22,
        $23, $24, $25::jsonb
      FROM moved
    ) SELECT item.priority FROM guard, item;
-- $1 = 'the item'
-- $2 = 1
-- $3 = 'LISTING'
-- $4 = 1
-- $5 = 'done'
-- $6 = 'done'
-- $7 = '{"pages":3}'
-- $8 = 'list'
-- $9 = ''
-- $10 = 1
-- $11 = '00000000-0000-4000-8000-000000000001'
-- $12 = 'spread-last'
-- $13 = 'done'
-- $14 = 'done'
-- $15 = 1
-- $16 = 'copy'
-- $17 = ["a","b"]
-- $18 = 'COPYING'
-- $19 = 'spread-last'
-- $20 = 'LISTING'
-- $21 = 'COPYING'
-- $22 = 'list-done'
-- $23 = 'worker'
-- $24 = 'worker'
-- $25 = '{"pages":3,"attempt":1}'
