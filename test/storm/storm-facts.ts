import type pg from 'pg';

/** What the database says of a storm, read by statements of the tester's own. */
export async function countOf(pool: pg.Pool, text: string): Promise<number> {
  const { rows } = await pool.query<{ n: number | null }>(`SELECT (${text})::int AS n`);
  return rows[0]?.n ?? 0;
}

export async function breakerOf(pool: pg.Pool): Promise<{ state: string; probeEveryMs: number } | undefined> {
  const { rows } = await pool.query<{ state: string; probeEveryMs: number }>(
    `SELECT state, probe_every_ms AS "probeEveryMs" FROM breakers WHERE class = 'LLM_ERROR'`,
  );
  return rows[0];
}

/** The failed attempts, around the moment in which the breaker opened. */
export interface Failures {
  failures: number;
  /** Had failed when it opened, as it says itself. */
  toOpen: number;
  /** Had failed so long before that it should have been open. */
  early: number;
  /** Had begun by then, and failed too. */
  inFlight: number;
  /** Began although it was open. */
  later: number;
  openedAt: Date;
}

/** What ends together is written one after the other, and claims see a breaker once it is committed: on a busy machine the times
 *  of both are so far from its own at most. */
const OPENING = `interval '1 second'`;

/** Read when all is over, so that no failure comes after it. */
export async function failuresOf(pool: pg.Pool): Promise<Failures> {
  const { rows } = await pool.query<Failures>(
    `WITH opened AS (
       SELECT opened_at, COALESCE(substring(reason FROM '^([0-9]+) of the last')::int, 0) AS "toOpen" FROM breakers
       WHERE class = 'LLM_ERROR'
     )
     SELECT opened_at AS "openedAt", "toOpen", count(*)::int AS failures,
       count(*) FILTER (WHERE started_at <= opened_at + ${OPENING})::int - "toOpen" AS "inFlight",
       count(*) FILTER (WHERE ended_at < opened_at - ${OPENING})::int AS early,
       count(*) FILTER (WHERE started_at > opened_at + ${OPENING})::int AS later
     FROM attempts CROSS JOIN opened WHERE result = 'error' GROUP BY 1, 2`,
  );
  const [failures] = rows;
  if (!failures) throw new Error('nothing failed, or no breaker has opened');
  return failures;
}

/** Attempts at the stage that began in each second since the outage ended. */
export async function startsBySecond(pool: pg.Pool, since: Date): Promise<number[]> {
  const { rows } = await pool.query<{ n: number }>(
    `SELECT count(a.id)::int AS n
     FROM generate_series($1::timestamptz, (SELECT max(started_at) FROM attempts WHERE stage = 'second'), '1 second') AS s (at)
     LEFT JOIN attempts a ON a.stage = 'second' AND a.started_at >= s.at AND a.started_at < s.at + interval '1 second'
     GROUP BY s.at ORDER BY s.at`,
    [since],
  );
  return rows.map((each) => each.n);
}
