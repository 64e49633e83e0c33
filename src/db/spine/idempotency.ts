import { createHash } from 'node:crypto';
import type pg from 'pg';
import { AppError } from '../../core/errors.js';
import type { Sql } from '../../ports/sql.js';
import type { JsonObject } from '../../ports/stage.js';
import { inTransaction } from '../postgres/client.js';

/** How long an answer is kept under its key. */
const KEPT_FOR = `interval '24 hours'`;

export interface Keyed {
  caller: string;
  route: string;
  /** Undefined: the caller does not send the request again. */
  key: string | undefined;
  body: unknown;
}

export interface Answer {
  status: number;
  body: JsonObject;
}

/** Answers a request that may be sent again: the first request makes the answer, the others get the same one. The rows that `make`
 *  writes and the answer are committed together. A concurrent request waits here for the first and finds its answer. Without a key
 *  `make` is given the pool, because one statement needs no transaction. */
export async function answerOnce(
  pool: pg.Pool,
  { key, ...request }: Keyed,
  make: (sql: Sql) => Promise<Answer>,
): Promise<Answer> {
  if (key === undefined) return make(pool);
  return inTransaction(pool, (transaction) => answerInside(transaction, { ...request, key }, make));
}

async function answerInside(
  transaction: Sql,
  request: Keyed & { key: string },
  make: (sql: Sql) => Promise<Answer>,
): Promise<Answer> {
  const { caller, route, key } = request;
  const bodyHash = createHash('sha256')
    .update(JSON.stringify(request.body ?? null))
    .digest('hex');
  const lock = `idempotency:${JSON.stringify([caller, route, key])}`;
  await transaction.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [lock]);
  const { rows } = await transaction.query<Answer & { bodyHash: string }>(
    `SELECT body_hash AS "bodyHash", status, answer AS body FROM idempotency_keys
     WHERE caller = $1 AND route = $2 AND key = $3 AND created_at > now() - ${KEPT_FOR}`,
    [caller, route, key],
  );
  const [known] = rows;
  if (known) return repeatAnswer(known, bodyHash, key);

  const answer = await make(transaction);
  await transaction.query(
    `INSERT INTO idempotency_keys AS k (caller, route, key, body_hash, status, answer) VALUES ($1, $2, $3, $4, $5, $6::jsonb)
     ON CONFLICT (caller, route, key) DO UPDATE SET
       body_hash = excluded.body_hash, status = excluded.status, answer = excluded.answer, created_at = now()`,
    [caller, route, key, bodyHash, answer.status, JSON.stringify(answer.body)],
  );
  return answer;
}

function repeatAnswer(known: Answer & { bodyHash: string }, bodyHash: string, key: string): Answer {
  if (known.bodyHash !== bodyHash) {
    throw new AppError('idempotency_conflict', `the key '${key}' was used with another body; choose a new key`, {
      errors: [{ path: 'Idempotency-Key', message: 'used with another body in the last 24 hours' }],
    });
  }
  return { status: known.status, body: known.body };
}
