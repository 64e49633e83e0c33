import { z } from 'zod';
import { diagnose, type Facts, type Reason, REASONS } from '../../core/diagnosis.js';
import { ERROR_CLASSES } from '../../core/error-class.js';
import { findRow } from '../../core/machine.js';
import { stalenessOf } from '../../core/staleness.js';
import { type ItemFilter, isExact } from '../../db/reads/item-filter.js';
import { type Scan, scanItems } from '../../db/reads/item-list.js';
import { callerOf } from '../http/access.js';
import type { App } from '../parts.js';
import { isSilent, lookAtQueue, type QueueLook, SWEPT } from './ask-engine.js';
import type { Caller } from '../http/auth.js';
import { cursorOf, positionIn } from '../http/cursor.js';
import type { ReaderDeps } from './item-reader.js';
import { listedAnswer, ListedItem } from './listed-item.js';
import { hasRole, OPERATORS } from '../http/permissions.js';
import { problems } from '../http/problem.js';
import { spanField } from '../http/span-field.js';
import { textUpTo } from '../http/text-up-to.js';

/** Rows that one request reads, which takes some milliseconds. A reason is computed from a row and its tasks, which
 *  costs more. */
const EXAMINED = 2_000;
const EXAMINED_FOR_REASON = 500;

const Query = z.strictObject({
  pipeline: textUpTo(100).optional(),
  state: textUpTo(100).optional(),
  owner: textUpTo(200).optional().describe('A user sees only their own, whatever is asked for'),
  reason: z
    .enum(REASONS)
    .optional()
    .describe('The reason of the diagnosis, as far as row and queue tell it: Temporal is not asked about single runs'),
  error: z.enum(ERROR_CLASSES).optional().describe('The class of its present error'),
  q: textUpTo(200)
    .optional()
    .describe(
      'The beginning of an id, at least 8 digits; or an owner, a dedupe key, an end reason, words of the error',
    ),
  age: spanField('3650d').optional().describe('Created at least so long ago, such as 15m or 2d'),
  cursor: z.string().max(500).optional().describe('`nextCursor` of the page before'),
  limit: z.coerce.number().int().min(1).max(100).default(50),
});

const ItemList = z.object({
  items: z.array(ListedItem),
  nextCursor: z
    .string()
    .nullable()
    .describe('Where to go on. A page may be short, or empty, and yet have one: the work for one request is bounded'),
  count: z
    .object({ value: z.int(), capped: z.boolean().describe('There may be more than that') })
    .nullable()
    .describe('Items that fit; with the first page only'),
});
type ItemList = z.output<typeof ItemList>;

export function addItemListRoute(app: App, deps: ReaderDeps): void {
  app.get(
    '/api/v1/items',
    {
      schema: {
        tags: ['items'],
        summary: 'Items, the newest first: an operator sees all, a user their own',
        querystring: Query,
        response: { 200: ItemList, ...problems() },
      },
    },
    async (request) => {
      const { cursor, limit, ...asked } = request.query;
      const before = positionIn(cursor, asked, isUuid);
      const filter = filterFor(deps.pipelines, callerOf(request), asked);
      if (!filter) return { items: [], nextCursor: null, count: { value: 0, capped: false } };
      const bounds = { examine: examinedFor(filter, asked.reason, before, limit), before };
      const take = asked.reason === undefined ? limit + 1 : bounds.examine;
      const [scan, isEngineThere] = await Promise.all([
        scanItems(deps.pool, filter, { ...bounds, take }),
        deps.engineHealth.isThere(),
      ]);
      const diagnosed = await diagnosedIn(deps, scan, isEngineThere);
      const fitting = diagnosed.filter(
        ({ diagnosis }) => asked.reason === undefined || diagnosis.reason === asked.reason,
      );
      return pageOf(scan, fitting, { limit, examine: bounds.examine, isFirst: before === null, asked });
    },
  );
}

type Asked = Omit<z.output<typeof Query>, 'cursor' | 'limit'>;

/** Null: nothing can fit. */
function filterFor(pipelines: ReaderDeps['pipelines'], caller: Caller, asked: Asked): ItemFilter | null {
  const { pipeline, state, error, q, age: ageMs, reason } = asked;
  const seesAll = hasRole(caller, ...OPERATORS);
  if (!seesAll && asked.owner !== undefined && asked.owner !== caller.sub) return null;
  return {
    pipeline,
    state,
    error,
    q,
    ageMs,
    owner: seesAll ? asked.owner : caller.sub,
    ...(reason !== undefined && { live: reason !== 'finished' }),
    ...(state !== undefined && {
      pipelines: Object.values(pipelines).flatMap((each) => (findRow(each, state) ? [each.name] : [])),
    }),
  };
}

function examinedFor(filter: ItemFilter, reason: string | undefined, before: string | null, limit: number): number {
  if (reason !== undefined) return EXAMINED_FOR_REASON;
  return before !== null && isExact(filter) ? limit + 1 : EXAMINED;
}

/** Reasons behind which a missing worker may stand. */
const MAY_LACK_WORKER: readonly Reason[] = ['backlog', ...SWEPT];

/** Temporal is asked about queues, of which there are few, and not about runs. */
async function diagnosedIn(deps: ReaderDeps, scan: Scan, isEngineThere: boolean): Promise<ListedItem[]> {
  const engine = isEngineThere ? {} : ({ engine: 'unknown' } as const);
  const rows = scan.items.map((listed) => {
    const facts: Facts = { ...listed, now: scan.now, pipeline: deps.pipelines[listed.item.pipeline], ...engine };
    return { listed, facts, mayLackWorker: isSilent(facts) && MAY_LACK_WORKER.includes(diagnose(facts).reason) };
  });
  const inDoubt = rows.filter((row) => isEngineThere && row.mayLackWorker).map(({ facts }) => facts.item.pipeline);
  const queues = await lookAtQueues(deps, inDoubt);
  return rows.map(({ listed, facts, mayLackWorker }) => {
    const asked = { ...facts, ...(mayLackWorker && queues.get(facts.item.pipeline)) };
    const diagnosis = diagnose(asked);
    return listedAnswer(listed, diagnosis, stalenessOf(asked, diagnosis) !== null);
  });
}

async function lookAtQueues(deps: ReaderDeps, pipelines: readonly string[]): Promise<Map<string, QueueLook>> {
  const looks = [...new Set(pipelines)].map(async (name) => [name, await lookAtQueue(deps, name)] as const);
  return new Map(await Promise.all(looks));
}

interface PageBounds {
  limit: number;
  examine: number;
  isFirst: boolean;
  asked: Asked;
}

function pageOf(scan: Scan, fitting: ListedItem[], { limit, examine, isFirst, asked }: PageBounds): ItemList {
  const items = fitting.slice(0, limit);
  const mayHaveMore = scan.examined >= examine;
  // After a full page the next page begins behind its last item, after a short page behind the last row that was read.
  const behindLooked = mayHaveMore ? scan.lastId : null;
  const position = fitting.length > limit ? items.at(-1)?.id : behindLooked;
  const value = asked.reason === undefined ? scan.fitting : fitting.length;
  return {
    items,
    nextCursor: position ? cursorOf(position, asked) : null,
    count: isFirst ? { value, capped: mayHaveMore } : null,
  };
}

function isUuid(position: string): boolean {
  return z.uuid().safeParse(position).success;
}
