import { v7 as uuidv7 } from 'uuid';
import type pg from 'pg';

export interface MadeSubmission {
  state?: string;
  owner?: string;
  name?: string;
  repository?: string;
  priority?: number;
  /** Seconds before now. */
  createdAgo?: number;
  enteredAgo?: number;
  /** Set: it has ended. */
  endedAgo?: number;
  endReason?: string;
  beatAgo?: number;
  parked?: boolean;
  /** The moves after RECEIVED, with how many seconds ago they were. */
  moves?: readonly (readonly [to: string, ago: number, trigger?: string, actorType?: string])[];
  /** How long each stage took, in milliseconds. */
  stages?: Readonly<Record<string, number>>;
}

/** A submission with a past, as the pipeline would have left it; written at once, for tests of what reads it. */
export async function makeSubmission(pool: pg.Pool, made: MadeSubmission = {}): Promise<string> {
  const id = uuidv7();
  const {
    state = 'RECEIVED',
    owner = 'alice',
    name = 'pdf',
    repository = `https://github.com/${owner}/${name}`,
  } = made;
  const { createdAgo = 0, enteredAgo = createdAgo, endedAgo = null, beatAgo = enteredAgo } = made;
  await pool.query(
    `INSERT INTO items (id, pipeline, owner, state, started, priority, created_at, entered_at, beat_at, ended_at, end_reason, parked_at)
     SELECT $1, 'submission', $2, $3, true, $4, now() - $5 * s, now() - $6 * s, now() - $7 * s, now() - $8 * s, $9,
       CASE WHEN $10 THEN now() END
     FROM (SELECT interval '1 second' AS s) AS second`,
    [
      id,
      owner,
      state,
      made.priority ?? 0,
      createdAgo,
      enteredAgo,
      beatAgo,
      endedAgo,
      made.endReason ?? null,
      made.parked ?? false,
    ],
  );
  await pool.query('INSERT INTO submissions (id, repo_url, skill_name) VALUES ($1, $2, $3)', [id, repository, name]);
  await addMove(pool, id, {
    owner,
    from: null,
    to: 'RECEIVED',
    ago: createdAgo,
    trigger: 'api-submission',
    by: 'system',
  });
  let from = 'RECEIVED';
  for (const [to, ago, trigger = 'moved', by = 'worker'] of made.moves ?? []) {
    await addMove(pool, id, { owner, from, to, ago, trigger, by });
    from = to;
  }
  for (const [stage, ms] of Object.entries(made.stages ?? {})) {
    await pool.query(
      `INSERT INTO tasks (item_id, visit, stage, status, started_at, ended_at)
       VALUES ($1, 1, $2, 'done', now() - $3 * interval '1 millisecond', now())`,
      [id, stage, ms],
    );
    await pool.query(
      `INSERT INTO attempts (item_id, pipeline, visit, stage, attempt, fence, started_at, ended_at, result, outcome)
       VALUES ($1, 'submission', 1, $2, 1, 1, now() - $3 * interval '1 millisecond', now(), 'done', 'pass')`,
      [id, stage, ms],
    );
  }
  return id;
}

interface Moved {
  owner: string;
  from: string | null;
  to: string;
  ago: number;
  trigger: string;
  by: string;
}

async function addMove(pool: pg.Pool, id: string, { owner, from, to, ago, trigger, by }: Moved): Promise<void> {
  await pool.query(
    `INSERT INTO audit (item_id, pipeline, owner, version, visit, epoch, from_state, to_state, trigger, actor, actor_type, at)
     VALUES ($1, 'submission', $2, 1, 1, 1, $3, $4, $5, $6, $6, now() - $7 * interval '1 second')`,
    [id, owner, from, to, trigger, by, ago],
  );
}
