-- The commit of spent tries that leave the item to the sweep.

WITH item AS (
      SELECT id, priority FROM items
      WHERE id = $1 AND visit = $2 AND state = $3
        AND epoch = $4 AND coalesce(ended_at, 'infinity') = 'infinity'
      FOR NO KEY UPDATE
    ),
guard AS (
      UPDATE tasks t SET status = $5, outcome = $6, note = NULL::jsonb, token = NULL, isolated = false, errors = t.errors + 1, error_class = $7, error_message = $8, retry_at = now() + $9 * interval '1 millisecond' FROM item
      WHERE t.item_id = $1 AND t.visit = $2 AND t.stage = $10 AND t.unit = $11
        AND t.fence = $12 AND t.claim_id = $13 AND t.status || '' = 'running'
      RETURNING t.item_id, t.visit, t.stage, t.unit, t.attempt, t.fence, t.worker, t.started_at
    ),
ended AS (
      INSERT INTO attempts (item_id, pipeline, visit, stage, unit, attempt, fence, worker, started_at, result, outcome, error_class, error_message)
      SELECT item_id, $14, visit, stage, unit, attempt, fence, worker, started_at, $15,
        NULL::text,
        $16::text, $17::text FROM guard
    ),
noted AS (UPDATE items SET error_class = $18, error_message = $19,
      error_stage = $20, updated_at = now(), run_ended_at = now() FROM guard WHERE items.id = guard.item_id),
told AS (
      INSERT INTO outbox (id, kind, pipeline, item_id, sentence, payload)
      SELECT concat_ws(':', 'run_failed', guard.item_id, $21::int), 'run_failed', $22, guard.item_id,
        $23, $24::jsonb FROM guard
      ON CONFLICT DO NOTHING
    ) SELECT item.priority FROM guard, item;
-- $1 = 'the item'
-- $2 = 1
-- $3 = 'WORKING'
-- $4 = 1
-- $5 = 'waiting'
-- $6 = null
-- $7 = 'NETWORK_ERROR'
-- $8 = 'the other side hung up'
-- $9 = null
-- $10 = 'judge'
-- $11 = ''
-- $12 = 1
-- $13 = '00000000-0000-4000-8000-000000000001'
-- $14 = 'several'
-- $15 = 'error'
-- $16 = 'NETWORK_ERROR'
-- $17 = 'the other side hung up'
-- $18 = 'NETWORK_ERROR'
-- $19 = 'the other side hung up'
-- $20 = 'any'
-- $21 = 1
-- $22 = 'several'
-- $23 = 'Its run ended because any failed and is not tried again (NETWORK_ERROR: the other side hung up). Recovery takes over.'
-- $24 = '{"stage":"any","errorClass":"NETWORK_ERROR"}'
