import type { CanarySettings, Fault } from '../core/canary-settings.js';
import type { Sql, Statement } from '../../../ports/sql.js';
import { queryPrepared } from '../../../db/postgres/client.js';
import type { Prisma } from '../../../db/postgres/prisma.js';

/** The most effects of one canary that are shown: enough for a thousand units in a few visits, with doubled effects. */
const EFFECTS_SHOWN = 5_000;

/** The canary's own row, inserted with its item. */
export function canaryRow({ stageMs, units, decision, faults }: CanarySettings): Statement {
  return {
    text: `INSERT INTO canaries (id, stage_ms, units, decision, faults)
      SELECT id, $1::int[], $2::int, $3::boolean, $4::jsonb FROM item`,
    values: [stageMs, units, decision, JSON.stringify(faults)],
  };
}

/** The settings of a canary. Its stages read them. */
export async function findCanarySettings(sql: Sql, id: string): Promise<CanarySettings> {
  const [settings] = await queryPrepared<CanarySettings>(
    sql,
    'SELECT stage_ms AS "stageMs", units, decision, faults FROM canaries WHERE id = $1',
    [id],
  );
  if (!settings) throw new Error(`there is no canary ${id}`);
  return settings;
}

export async function isLive(sql: Sql, itemId: string): Promise<boolean> {
  const { rows } = await sql.query('SELECT 1 FROM items WHERE id = $1 AND ended_at IS NULL', [itemId]);
  return rows.length > 0;
}

export interface CanaryEffect {
  stage: string;
  unit: string;
  visit: number;
  attempt: number;
  at: Date;
}

export interface CanaryRecord extends CanarySettings {
  id: string;
  owner: string;
  state: string;
  effects: CanaryEffect[];
  effectsCount: number;
}

/** The canary with the effects of its stages, oldest first. The state is read before the effects, so that a canary that
 *  shows as ended shows all of them. */
export async function findCanary(prisma: Prisma, id: string): Promise<CanaryRecord | null> {
  const canary = await prisma.canary.findUnique({ where: { id } });
  const item = canary && (await prisma.item.findUnique({ where: { id }, select: { owner: true, state: true } }));
  if (!item) return null;
  const effects = await prisma.canaryEffect.findMany({
    where: { itemId: id },
    select: { stage: true, unit: true, visit: true, attempt: true, at: true },
    orderBy: { id: 'asc' },
    take: EFFECTS_SHOWN,
  });
  const isCut = effects.length === EFFECTS_SHOWN;
  const effectsCount = isCut ? await prisma.canaryEffect.count({ where: { itemId: id } }) : effects.length;
  const { stageMs, units, decision } = canary;
  // Written by canaryRow alone, which takes nothing else.
  const faults = canary.faults as unknown as Fault[];
  return { id, ...item, stageMs, units, decision, faults, effects, effectsCount };
}
