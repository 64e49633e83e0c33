import type { Sql } from '../../ports/sql.js';
import type { JsonObject } from '../../ports/stage.js';
import { storableJson } from '../postgres/parameters.js';
import type { Actor } from './transition.js';

export interface OperatorAction {
  /** What was done: pause, resume, trigger. */
  action: string;
  /** To what: `pipeline:canary`, `schedule:sweep-canary`. */
  target: string;
  actor: Actor;
  reason?: string | undefined;
  metadata?: JsonObject;
}

/** The audit entry of what an operator did to something that is no item. */
export async function recordOperatorAction(sql: Sql, done: OperatorAction): Promise<void> {
  await sql.query(
    `INSERT INTO operator_actions (action, target, reason, actor, actor_type, metadata) VALUES ($1, $2, $3, $4, $5, $6::jsonb)`,
    [done.action, done.target, done.reason ?? null, done.actor.id, done.actor.type, storableJson(done.metadata ?? {})],
  );
}
