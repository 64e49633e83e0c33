import type { Sql } from '../../ports/sql.js';
import type { JsonObject } from '../../ports/stage.js';
import { storableJson } from '../postgres/parameters.js';
import type { Actor } from './transition.js';

export interface OperatorAction {
  /** The act: pause, resume, trigger. */
  action: string;
  /** The object of the act: `pipeline:<name>`, `schedule:sweep-<name>`. */
  target: string;
  actor: Actor;
  reason?: string | undefined;
  metadata?: JsonObject;
}

/** Writes the audit entry of an operator's act on a pipeline, a schedule or a breaker. */
export async function recordOperatorAction(sql: Sql, done: OperatorAction): Promise<void> {
  await sql.query(
    `INSERT INTO operator_actions (action, target, reason, actor, actor_type, metadata) VALUES ($1, $2, $3, $4, $5, $6::jsonb)`,
    [done.action, done.target, done.reason ?? null, done.actor.id, done.actor.type, storableJson(done.metadata ?? {})],
  );
}
