import XLSX from '@e965/xlsx';
import type { TextPart } from '../../core/part.js';
import { tableOf } from './blocks-to-parts.js';
import type { OpenedZip } from './open-zip.js';
import { partsNamed } from './package-parts.js';
import { OFFICE, readBlocks } from './read-blocks.js';
import type { ReadContent } from './read-content.js';
import { readXml } from './read-xml.js';
import { storedZip } from './stored-zip.js';

type Cell = { w?: string; v?: unknown; c?: readonly { t?: string }[] };
type Row = readonly (Cell | undefined)[];

/** Every sheet is a table with its values as they are shown, and what is printed above and below it. */
export async function readXlsx(zip: OpenedZip): Promise<ReadContent> {
  const names = partsNamed(zip, /\.(?:xml|rels|bin)$/i).filter(
    (name) => !/(?:printerSettings|vbaProject|activeX)/i.test(name),
  );
  const parts: { name: string; bytes: Buffer }[] = [];
  for (const name of names) {
    const bytes = await zip.read(name);
    // The parser of the sheets is not ours, so a part with entities is refused before it sees the part.
    if (name.endsWith('.xml') && bytes.subarray(0, 4_096).includes('<!DOCTYPE')) readXml(bytes, {});
    parts.push({ name, bytes });
  }
  const printed = parts.filter(({ name }) => /worksheets\/[^/]+\.xml$/.test(name)).map(({ bytes }) => printedOf(bytes));
  const drawn = parts.filter(({ name }) => /drawings\/drawing\d+\.xml$/.test(name)).map(({ bytes }) => drawnOf(bytes));
  const book = XLSX.read(storedZip(parts), { dense: true, cellFormula: false, cellHTML: false, cellText: true });
  const sheets = book.SheetNames.map((title, at) => partOfSheet(book.Sheets[title], title, at + 1));
  const beside = [...new Set([...printed, ...drawn])].filter((text) => text !== '').join('\n');
  const around: TextPart[] = beside === '' ? [] : [{ kind: 'text', title: 'Headers and footers', text: beside }];
  return { format: 'xlsx', parts: [...sheets, ...around], pages: book.SheetNames.length };
}

function partOfSheet(sheet: XLSX.WorkSheet | undefined, title: string, page: number): TextPart {
  const rows = ((sheet as { '!data'?: Row[] } | undefined)?.['!data'] ?? []).filter((row) => row.length > 0);
  const columns = columnsOf(rows);
  const lines = rows.map((row) =>
    columns
      .map((column) => shownIn(row[column]))
      .join('\t')
      .trimEnd(),
  );
  return { ...tableOf(lines.filter((line) => line !== '')), title, page };
}

/** The columns that have a value. A value far to the right would else give every row thousands of empty cells. */
function columnsOf(rows: readonly Row[]): number[] {
  const columns = new Set<number>();
  for (const row of rows) {
    // Skips the holes, of which a row may have thousands.
    row.forEach((cell, column) => {
      if (shownIn(cell) !== '') columns.add(column);
    });
  }
  return [...columns].sort((a, b) => a - b);
}

function shownIn(cell: Cell | undefined): string {
  if (!cell) return '';
  const value = cell.w ?? (typeof cell.v === 'string' || typeof cell.v === 'number' ? String(cell.v) : '');
  const notes = (cell.c ?? []).map(({ t }) => t ?? '');
  return [value, ...notes].join(' ').replace(/\s+/g, ' ').trim();
}

/** The end of a sheet's XML, where its headers and footers stand behind all rows. */
const END_OF_SHEET = 100_000;

function printedOf(sheet: Buffer): string {
  const end = sheet.subarray(-END_OF_SHEET).toString('utf8');
  const [found] = /<(\w+:)?headerFooter\b[\s\S]*?<\/(?:\w+:)?headerFooter>/.exec(end) ?? [];
  if (!found) return '';
  const texts: string[] = [];
  readXml(Buffer.from(found), { text: (text) => void texts.push(text) });
  // `&L`, `&C` and `&R` begin the left, middle and right text; the other codes stand for dates, numbers and fonts.
  const plain = texts.join('\n').replace(/&(?:"[^"]*"|K[0-9A-F]{6}|\d+|&|[A-Z])/gi, ' ');
  return plain.replace(/[^\S\n]+/g, ' ').trim();
}

function drawnOf(drawing: Buffer): string {
  const blocks = readBlocks(drawing, OFFICE);
  return blocks
    .flatMap((block) => ('rows' in block ? block.rows : [block.text]))
    .join('\n')
    .trim();
}
