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
