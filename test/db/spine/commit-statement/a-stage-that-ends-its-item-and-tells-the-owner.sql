-- The commit of a stage that ends its item and tells the owner.

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
moved AS (
      UPDATE items i SET version = i.version + 1, updated_at = now(), state = $16, entered_at = now(), beat_at = now(), error_class = NULL, error_message = NULL, error_stage = NULL, ended_at = now(), end_reason = NULL, start_after = NULL, paused_until = NULL, pause_reason = NULL
      FROM guard WHERE i.id = guard.item_id
      RETURNING i.id, i.owner, i.version, i.visit, i.epoch
    ), entry AS (
      INSERT INTO audit (item_id, pipeline, owner, version, visit, epoch, from_state, to_state, trigger, actor, actor_type, metadata)
      SELECT id, $17, owner, version, visit, epoch, $18, $19, $20,
        $21, $22, $23::jsonb
      FROM moved
    ), told AS (
      INSERT INTO outbox (id, kind, pipeline, item_id, mail_to, sentence, payload)
      SELECT concat_ws(':', 'item_ended', moved.id, moved.visit), 'item_ended', $24, moved.id,
        concerned.email, $25, $26::jsonb
      FROM moved JOIN concerned_people concerned ON concerned.id = moved.id WHERE concerned.email IS NOT NULL
      ON CONFLICT DO NOTHING
    ) SELECT item.priority FROM guard, item;
-- $1 = 'the item'
-- $2 = 1
-- $3 = 'READING'
-- $4 = 1
-- $5 = 'done'
-- $6 = 'empty'
-- $7 = '{"pages":3}'
-- $8 = 'read'
-- $9 = ''
-- $10 = 1
-- $11 = '00000000-0000-4000-8000-000000000001'
-- $12 = 'telling'
-- $13 = 'done'
-- $14 = 'empty'
-- $15 = 1
-- $16 = 'DONE'
-- $17 = 'telling'
-- $18 = 'READING'
-- $19 = 'DONE'
-- $20 = 'nothing-to-do'
-- $21 = 'worker'
-- $22 = 'worker'
-- $23 = '{"pages":3,"attempt":1}'
-- $24 = 'telling'
-- $25 = 'It ended in DONE (nothing-to-do).'
-- $26 = '{"state":"DONE","trigger":"nothing-to-do"}'
