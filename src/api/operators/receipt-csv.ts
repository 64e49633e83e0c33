import type pg from 'pg';
import { type ListedReceipt, listReceipts, type ReceiptFilter } from '../../db/reads/receipt-list.js';

const COLUMNS = [
  'id',
  'itemId',
  'pipeline',
  'state',
  'visit',
  'epoch',
  'stage',
  'unit',
  'reason',
  'sentence',
  'lastSignAt',
  'seenAt',
  'actedAt',
  'movingAt',
  'stagesAgain',
  'actor',
  'actorType',
  'result',
] as const satisfies readonly (keyof ListedReceipt)[];

/** Read at once: little memory, few statements. */
const PAGE = 1_000;

/** The file in pieces, page by page, so that it is never in memory as a whole. */
export async function* receiptLines(pool: pg.Pool, filter: ReceiptFilter, max: number): AsyncGenerator<string> {
  yield lineOf(COLUMNS);
  let before: string | null = null;
  for (let left = max; left > 0; left -= PAGE) {
    const page: ListedReceipt[] = await listReceipts(pool, filter, { before, limit: Math.min(PAGE, left) });
    if (page.length > 0) yield page.map((each) => lineOf(COLUMNS.map((column) => textOf(each[column])))).join('');
    before = page.at(-1)?.id ?? null;
    if (page.length < PAGE) return;
  }
}

function textOf(value: ListedReceipt[keyof ListedReceipt]): string {
  if (value === null) return '';
  if (value instanceof Date) return value.toISOString();
  return Array.isArray(value) ? value.join(' ') : String(value);
}

function lineOf(cells: readonly string[]): string {
  return `${cells.map(cellOf).join(',')}\r\n`;
}

/** A spreadsheet runs a cell that begins like a formula. An apostrophe makes it text. Owners and stages choose some of
 *  these words. */
export function cellOf(text: string): string {
  const harmless = /^[=+\-@\t\r\n|%]/.test(text) ? `'${text}` : text;
  return `"${harmless.replaceAll('"', '""')}"`;
}
