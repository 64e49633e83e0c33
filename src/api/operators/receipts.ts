import { Readable } from 'node:stream';
import { z } from 'zod';
import { REASONS } from '../../core/diagnosis.js';
import { msOf } from '../../core/span.js';
import { countReceipts, listReceipts, type RecoveryTimes, summarizeReceipts } from '../../db/reads/receipt-list.js';
import type { ApiDeps, App } from '../parts.js';
import { cursorOf, positionIn } from '../http/cursor.js';
import { OPERATORS } from '../http/permissions.js';
import { problems } from '../http/problem.js';
import { ReceiptAnswer, receiptAnswer } from './receipt-answer.js';
import { receiptLines } from './receipt-csv.js';
import { streamedText } from '../http/streamed-text.js';
import { textUpTo } from '../http/text-up-to.js';

const TAGS = ['receipts'];

/** Lines of one CSV file, which a spreadsheet still opens with ease. */
const CSV_LINES = 50_000;

/** A file of that length takes seconds; a reader slower than this is hung up on. */
const CSV_WITHIN_MS = msOf('5m');

const Filter = z.strictObject({
  pipeline: textUpTo(100).optional(),
  reason: z.enum(REASONS).optional(),
  result: z.enum(['waiting', 'moving', 'exhausted', 'parked', 'poison']).optional(),
  since: z.iso
    .datetime({ offset: true })
    .transform((value) => new Date(value))
    .optional()
    .describe('Seen at this time or later'),
});

const Page = Filter.extend({
  cursor: z.string().max(500).optional().describe('`nextCursor` of the page before'),
  limit: z.coerce.number().int().min(1).max(100).default(50),
});

const Times = z.object({
  count: z.int(),
  moving: z.int().describe('Those that are known to be moving again'),
  detectMs: z
    .object({ median: z.number().nullable(), p95: z.number().nullable() })
    .describe('From the last sign of life until it was seen'),
  restartMs: z
    .object({ median: z.number().nullable(), p95: z.number().nullable() })
    .describe('From when it was seen until it moved again; null: nothing is known to have moved'),
});

type Deps = Pick<ApiDeps, 'pool'>;

export function addReceiptRoutes(app: App, { pool }: Deps): void {
  const config = { access: OPERATORS };

  app.get(
    '/api/v1/receipts',
    {
      config,
      schema: {
        tags: TAGS,
        summary: 'Recoveries, the newest first',
        querystring: Page,
        response: {
          200: z.object({ receipts: z.array(ReceiptAnswer), nextCursor: z.string().nullable() }),
          ...problems(),
        },
      },
    },
    async ({ query }) => {
      const { cursor, limit, ...filter } = query;
      const before = positionIn(cursor, filter, (position) => /^\d{1,18}$/.test(position));
      const found = await listReceipts(pool, filter, { before, limit: limit + 1 });
      const shown = found.slice(0, limit);
      const last = shown.at(-1);
      return {
        receipts: shown.map(receiptAnswer),
        nextCursor: last && found.length > limit ? cursorOf(last.id, filter) : null,
      };
    },
  );

  app.get(
    '/api/v1/receipts.csv',
    {
      config,
      handlerTimeout: CSV_WITHIN_MS,
      schema: {
        tags: TAGS,
        summary: `Recoveries as a CSV file, the newest first, at most ${CSV_LINES}`,
        description:
          'The header `X-Truncated` is true where there are more. Cells that a spreadsheet would run as a formula begin with an apostrophe.',
        querystring: Filter,
        response: {
          200: streamedText('text/csv', 'RFC 4180, with a header line'),
          ...problems(),
        },
      },
    },
    async ({ query }, reply) => {
      const isTruncated = (await countReceipts(pool, query, CSV_LINES + 1)) > CSV_LINES;
      return reply
        .type('text/csv; charset=utf-8')
        .header('Content-Disposition', 'attachment; filename="receipts.csv"')
        .header('X-Truncated', String(isTruncated))
        .send(Readable.from(receiptLines(pool, query, CSV_LINES)));
    },
  );

  app.get(
    '/api/v1/receipts/summary',
    {
      config,
      schema: {
        tags: TAGS,
        summary: 'How many recoveries there were, and how long they took, by reason',
        querystring: Filter,
        response: {
          200: z.object({ all: Times, byReason: z.array(Times.extend({ reason: z.string() })) }),
          ...problems(),
        },
      },
    },
    async ({ query }) => {
      const [all, ...byReason] = await summarizeReceipts(pool, query);
      if (!all) throw new Error('a sum over everything has no row');
      return {
        all: timesOf(all),
        byReason: byReason.map((each) => ({ reason: each.reason ?? '', ...timesOf(each) })),
      };
    },
  );
}

function timesOf(times: RecoveryTimes): z.output<typeof Times> {
  const { count, moving } = times;
  return {
    count,
    moving,
    detectMs: { median: times.detectMedianMs, p95: times.detectP95Ms },
    restartMs: { median: times.restartMedianMs, p95: times.restartP95Ms },
  };
}
