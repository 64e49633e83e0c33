import { z } from 'zod';
import { type Reason, REASONS } from '../../core/diagnosis.js';
import { ERROR_CLASSES } from '../../core/error-class.js';
import { findRow } from '../../core/machine.js';
import { type ItemFilter, isExact } from '../../db/reads/item-filter.js';
import { type Scan, scanItems } from '../../db/reads/item-list.js';
import type { RowFacts } from '../../db/recovery/row-facts.js';
import { callerOf } from '../http/access.js';
import type { App } from '../parts.js';
import type { Caller } from '../http/auth.js';
import { cursorOf, positionIn } from '../http/cursor.js';
import { Degraded } from './degraded.js';
import { diagnoseRows, reasonInRows } from './diagnose-rows.js';
import type { ReaderDeps } from './item-reader.js';
import { listedAnswer, ListedItem } from './listed-item.js';
import { sweptAsOf } from './swept-as-of.js';
import { hasRole, OPERATORS } from '../http/permissions.js';
import { problems } from '../http/problem.js';
import { spanField } from '../http/span-field.js';
import { textUpTo } from '../http/text-up-to.js';

/** Reasons that rows alone do not tell. Only a sweep asks Temporal about every item, so the filter goes by the reason that the last
 *  sweep has stored. */
const TOLD_BY_SWEEP: readonly Reason[] = ['backlog', 'no_worker', 'wedged'];

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
    .describe(
      `The reason of the diagnosis. For ${TOLD_BY_SWEEP.join(', ')}: the reason that the last sweep found (\`swept\`), as of \`asOf\``,
    ),
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
  asOf: z.iso
    .datetime()
    .nullable()
    .describe('With `reason`: when that was known. Now, or the end of the last sweep. Null: there was no sweep yet'),
  degraded: Degraded,
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
      const isEngineThere = await deps.engineHealth.isThere();
      const filter = filterFor(deps.pipelines, callerOf(request), asked);
      if (!filter) return { ...NOTHING, degraded: !isEngineThere };
      const examine = examinedFor(filter, asked.reason, before, limit);
      const isToldByRows = asked.reason !== undefined && filter.swept === undefined;
      const scan = await scanItems(deps.pool, filter, { examine, before, take: isToldByRows ? examine : limit + 1 });
      const fitting = isToldByRows
        ? scan.items.filter((row) => reasonInRows(deps, row, isEngineThere) === asked.reason)
        : scan.items;
      const [diagnosed, asOf] = await Promise.all([
        diagnoseRows(deps, fitting.slice(0, limit), { isEngineThere }),
        asOfWhen(deps, filter, scan, asked.reason),
      ]);
      const page = pageOf(scan, fitting, { limit, examine, isFirst: before === null, isToldByRows, asked });
      const items = diagnosed.filter(({ diagnosis }) => !isToldByRows || diagnosis.reason === asked.reason);
      return { ...page, items: items.map(listedAnswer), asOf, degraded: !isEngineThere };
    },
  );
}

const NOTHING = { items: [], nextCursor: null, count: { value: 0, capped: false }, asOf: null };

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
    ...(reason !== undefined && TOLD_BY_SWEEP.includes(reason) && { swept: reason, pipelines: Object.keys(pipelines) }),
    ...(state !== undefined && {
      pipelines: Object.values(pipelines).flatMap((each) => (findRow(each, state) ? [each.name] : [])),
    }),
  };
}

/** When the filter's reason was known. */
async function asOfWhen(
  deps: ReaderDeps,
  { swept, pipeline, pipelines = [] }: ItemFilter,
  { now }: Scan,
  reason: Reason | undefined,
): Promise<string | null> {
  if (reason === undefined) return null;
  return swept === undefined ? now.toISOString() : sweptAsOf(deps, pipeline === undefined ? pipelines : [pipeline]);
}

function examinedFor(filter: ItemFilter, reason: string | undefined, before: string | null, limit: number): number {
  if (reason !== undefined && filter.swept === undefined) return EXAMINED_FOR_REASON;
  return before !== null && isExact(filter) ? limit + 1 : EXAMINED;
}

interface PageBounds {
  limit: number;
  examine: number;
  isFirst: boolean;
  isToldByRows: boolean;
  asked: Asked;
}

function pageOf(
  scan: Scan,
  fitting: readonly RowFacts[],
  { limit, examine, isFirst, isToldByRows, asked }: PageBounds,
): Pick<ItemList, 'nextCursor' | 'count'> {
  const mayHaveMore = scan.examined >= examine;
  // After a full page the next page begins behind its last item, after a short page behind the last row that was read.
  const behindLooked = mayHaveMore ? scan.lastId : null;
  const position = fitting.length > limit ? fitting[limit - 1]?.item.id : behindLooked;
  const value = isToldByRows ? fitting.length : scan.fitting;
  return {
    nextCursor: position ? cursorOf(position, asked) : null,
    count: isFirst ? { value, capped: mayHaveMore } : null,
  };
}

function isUuid(position: string): boolean {
  return z.uuid().safeParse(position).success;
}
