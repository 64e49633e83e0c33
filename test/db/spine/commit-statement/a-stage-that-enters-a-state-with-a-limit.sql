-- The commit of a stage that enters a state with a limit.

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
-- $3 = 'HEATING'
-- $4 = 1
-- $5 = 'done'
-- $6 = 'done'
-- $7 = '{"pages":3}'
-- $8 = 'heat'
-- $9 = ''
-- $10 = 1
-- $11 = '00000000-0000-4000-8000-000000000001'
-- $12 = 'admitting'
-- $13 = 'done'
-- $14 = 'done'

WITH guard AS (SELECT t.item_id, t.visit, t.stage, t.unit, t.attempt, t.fence, t.worker, t.started_at FROM tasks t WHERE item_id = $1 AND visit = $2 AND stage = $3 AND unit = $4),
       saved AS (INSERT INTO canary_effects (item_id, visit, stage, unit, attempt)
           SELECT guard.item_id, guard.visit, guard.stage, guard.unit, $5::int FROM guard) SELECT 1;
-- $1 = 'the item'
-- $2 = 1
-- $3 = 'heat'
-- $4 = ''
-- $5 = 1

SELECT
  id, pipeline, owner, state, visit, epoch, version, started, priority, rescues, allow_partial AS "allowPartial",
  last_rescue_at AS "lastRescueAt", error_class AS "errorClass", ended_at AS "endedAt", now() AS now,
  CASE WHEN paused_until > now() THEN CASE WHEN NOT isfinite(paused_until) THEN 31536000000
    ELSE least(31536000000, ceil(extract(epoch FROM paused_until - now()) * 1000)) END::float8 END AS "pausedForMs" FROM items WHERE id = $1 FOR NO KEY UPDATE;
-- $1 = 'the item'

SELECT status, outcome, note, crashes, own_deaths AS "ownDeaths", COALESCE(error_class, 'UNKNOWN') AS "errorClass",
       COALESCE(error_message, 'no reason recorded') AS "errorMessage"
     FROM tasks WHERE item_id = $1 AND visit = $2 AND stage = $3 AND unit = '';
-- $1 = 'the item'
-- $2 = 1
-- $3 = 'heat'

SELECT pg_advisory_xact_lock(hashtextextended($1, 0));
-- $1 = 'admit:admitting:COOLING'

SELECT count(*)::int AS inside FROM items WHERE pipeline = $1 AND state = $2 AND ended_at IS NULL;
-- $1 = 'admitting'
-- $2 = 'COOLING'

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
-- $2 = 'HEATING'
-- $3 = 1
-- $4 = 1
-- $5 = 'COOLING'
-- $6 = 'admitting'
-- $7 = 'HEATING'
-- $8 = 'COOLING'
-- $9 = 'heat-done'
-- $10 = 'worker'
-- $11 = 'worker'
-- $12 = '{"pages":3}'

COMMIT;
