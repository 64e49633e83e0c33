import type { FastifyBaseLogger } from 'fastify';
import { AppError } from '../../core/errors.js';
import type { Pipeline } from '../../core/pipeline.js';
import type { RunStart } from '../../core/run.js';
import { inTransaction } from '../../db/postgres/client.js';
import { type Answer, answerOnce } from '../../db/spine/idempotency.js';
import { createItem, type Created, findDuplicate, type NewItem } from '../../db/spine/items.js';
import { countRoom, lockRoom } from '../../db/spine/owner-room.js';
import type { Sql } from '../../ports/sql.js';
import type { Caller } from '../http/auth.js';
import { hasRole } from '../http/permissions.js';
import type { ApiDeps } from '../parts.js';
import { startRun } from './tell-engine.js';

/** A request that brings items. */
export interface BringingRequest {
  log: FastifyBaseLogger;
  caller: Caller;
  /** The route under which the idempotency key is kept. */
  route: string;
  key: string | undefined;
  body: unknown;
  /** `one`: the item's run is started before the answer. `many`: all items are created in one transaction, and the
   *  dispatcher starts their runs. */
  brings: 'one' | 'many';
}

/** The means by which a route creates items. */
export interface Intake {
  /** For the domain's own reads and writes: the transaction, or the pool where one statement needs none. */
  sql: Sql;
  /** Creates the item, owned by the caller, with its domain's row. An item with the same dedupe key is answered instead, and needs
   *  no room. Throws `too_many_live` where the caller has as many live items as one owner may have. */
  create(pipeline: Pipeline, item: Omit<NewItem, 'owner'>): Promise<Created>;
}

/** Answers a request once, creates its items together with the answer, and starts their runs after the commit. */
export async function acceptItems(
  { pool, engine }: Pick<ApiDeps, 'pool' | 'engine'>,
  request: BringingRequest,
  make: (intake: Intake) => Promise<Answer>,
): Promise<Answer> {
  const { log, caller, route, key, body, brings } = request;
  const runs: RunStart[] = [];
  const work = (sql: Sql): Promise<Answer> => make(intakeOf(sql, request, runs));
  const keyed = { caller: caller.sub, route, key, body };
  // A caller who gets no answer to a request with many items has brought none of them, with a key or without.
  const isBare = brings === 'many' && key === undefined;
  const answer = isBare ? await inTransaction(pool, work) : await answerOnce(pool, keyed, work);
  if (brings === 'one') for (const run of runs) await startRun({ pool, engine }, log, run);
  return answer;
}

/** How many more live items the caller may have. Requests with one item count for themselves, so that a caller may exceed the
 *  limit by as many items as they have requests in flight; a request with many items locks and counts down. */
interface Room {
  left: number;
  max: number;
}

function intakeOf(sql: Sql, { caller, brings }: BringingRequest, runs: RunStart[]): Intake {
  const rooms = new Map<string, Room>();

  async function roomIn(pipeline: Pipeline): Promise<Room> {
    const known = rooms.get(pipeline.name);
    if (known) return known;
    const room = await findRoom(sql, pipeline, caller, brings);
    rooms.set(pipeline.name, room);
    return room;
  }

  return {
    sql,
    async create(pipeline, given) {
      const item = { ...given, owner: caller.sub };
      const room = await roomIn(pipeline);
      const created = room.left > 0 ? await createItem(sql, pipeline, item) : await findDuplicate(sql, pipeline, item);
      if (!created) throw refuseMore(room);
      if (!created.created) return created;
      room.left -= 1;
      if (created.run) runs.push(created.run);
      return created;
    },
  };
}

/** Admins bring items for others, and are not limited. */
async function findRoom(sql: Sql, pipeline: Pipeline, caller: Caller, brings: 'one' | 'many'): Promise<Room> {
  const max = pipeline.livePerOwner ?? Infinity;
  if (max === Infinity || hasRole(caller, 'admin')) return { left: Infinity, max };
  if (brings === 'many') await lockRoom(sql, caller.sub);
  return { left: await countRoom(sql, pipeline, caller.sub, max), max };
}

function refuseMore({ max }: Room): AppError {
  const message = `one too many: ${max} of yours are on their way; send it again when some have ended, or cancel some`;
  return new AppError('too_many_live', message, { facts: { maxLive: max } });
}
