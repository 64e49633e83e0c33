import { openScene, type Scene } from './sweep-data.js';

/** The items of the pause are the canary's. The items of `OTHER` come and go meanwhile. */
export const HELD_PIPELINE = 'canary';
export const OTHER = 'other';

/** A database with so many ended items, and with held ones whose pause has just been lifted. */
export async function openHeldScene(
  url: string,
  name: string,
  { ended, held }: { ended: number; held: number },
): Promise<Scene> {
  const scene = await openScene(url, name, ended);
  await scene.control.query(
    `INSERT INTO items (id, pipeline, owner, state, version, started, accepted_at, held_by)
     SELECT uuidv7(), $1, 'held', 'SECOND', 2, true, now(), 'pause' FROM generate_series(1, $2::int)`,
    [HELD_PIPELINE, held],
  );
  await scene.control.query('VACUUM (ANALYZE) items');
  return scene;
}

export async function countHeld({ control }: Scene): Promise<number> {
  const { rows } = await control.query<{ count: number }>(
    'SELECT count(*)::int AS count FROM items WHERE held_by IS NOT NULL AND ended_at IS NULL',
  );
  return rows[0]?.count ?? NaN;
}

/** One more item of the other pipeline: new, so that it must be started, or with a run that must be woken. */
export async function addOther({ control }: Scene, kind: 'start' | 'wake'): Promise<string> {
  const { rows } = await control.query<{ id: string }>(
    `INSERT INTO items (id, pipeline, owner, state, started, start_after, wake_after)
     VALUES (uuidv7(), $1, 'other', 'FIRST', $2, CASE WHEN $2 THEN NULL ELSE now() END, CASE WHEN $2 THEN now() END)
     RETURNING id`,
    [OTHER, kind === 'wake'],
  );
  return rows[0]?.id ?? '';
}
