import { readXml } from './read-xml.js';

/** A paragraph, or a table whose rows have their cells separated by tabs. */
export type Block =
  { rows: string[] } | { text: string; style?: string; level?: number; isListed?: true; isTitle?: true };

/** What the elements of a family of formats mean. Names are without prefixes. */
export interface Elements {
  /** Text stands in these alone; undefined: in the paragraph itself. */
  run?: string;
  paragraphs: readonly string[];
  table: string;
  row: string;
  cells: readonly string[];
  breaks: readonly string[];
  /** Left out with all that is in them: what was deleted, codes of fields, and what another element says as well. */
  skipped: readonly string[];
}

/** Word and PowerPoint share the names of these elements. */
export const OFFICE: Elements = {
  run: 't',
  paragraphs: ['p'],
  table: 'tbl',
  row: 'tr',
  cells: ['tc'],
  breaks: ['br', 'cr'],
  skipped: ['Fallback', 'del', 'moveFrom', 'delText', 'instrText', 'delInstrText'],
};

export const OPEN_DOCUMENT: Elements = {
  paragraphs: ['p', 'h'],
  table: 'table',
  row: 'table-row',
  cells: ['table-cell', 'covered-table-cell'],
  breaks: ['line-break'],
  skipped: ['tracked-changes', 'forms', 'creator', 'date', 'binary-data'],
};

interface Paragraph {
  text: string;
  style?: string;
  level?: number;
  isListed?: true;
  isTitle?: true;
}

/** Paragraphs stand in cells, cells in tables, tables in cells, and boxes with paragraphs in paragraphs. */
export function readBlocks(xml: Buffer, elements: Elements): Block[] {
  const blocks: Block[] = [];
  const paragraphs: Paragraph[] = [];
  const tables: { rows: string[]; cells: string[]; lines: string[] }[] = [];
  let [skipped, isInRun, isTitle] = [0, false, false];

  function add(paragraph: Paragraph): void {
    const text = paragraph.text.replace(/[^\S\n\t]+$/, '');
    const table = tables.at(-1);
    if (table) table.lines.push(text);
    else blocks.push({ ...paragraph, text, ...(isTitle && { isTitle }) });
  }

  function closeTable(): void {
    const rows = tables.pop()?.rows ?? [];
    const outer = tables.at(-1);
    if (outer) outer.lines.push(...rows);
    else blocks.push({ rows });
  }

  readXml(xml, {
    open(name, attributes) {
      if (skipped > 0 || elements.skipped.includes(name)) return void (skipped += 1);
      const paragraph = paragraphs.at(-1);
      if (name === elements.run) isInRun = true;
      else if (elements.paragraphs.includes(name)) paragraphs.push(paragraphOf(name, attributes));
      else if (name === elements.table) tables.push({ rows: [], cells: [], lines: [] });
      else if (name === 'ph') isTitle = /^(?:ctrT|t)itle$/.test(attributes['type'] ?? '');
      else if (paragraph) describe(paragraph, name, attributes, elements);
    },
    close(name) {
      if (skipped > 0) return void (skipped -= 1);
      if (name === elements.run) isInRun = false;
      else if (elements.paragraphs.includes(name)) add(paragraphs.pop() ?? { text: '' });
      else if (name === elements.table) closeTable();
      else if (name === 'sp') isTitle = false;
      else closeInTable(name);
    },
    text(text) {
      const paragraph = paragraphs.at(-1);
      if (!paragraph || skipped > 0 || (elements.run && !isInRun)) return;
      paragraph.text += elements.run ? text : text.replace(/\s+/g, ' ');
    },
  });
  return blocks;

  function closeInTable(name: string): void {
    const table = tables.at(-1);
    if (!table) return;
    if (elements.cells.includes(name)) {
      table.cells.push(table.lines.join(' ').replace(/\s+/g, ' ').trim());
      table.lines = [];
    } else if (name === elements.row) {
      table.rows.push(table.cells.join('\t').trimEnd());
      table.cells = [];
    }
  }
}

function paragraphOf(name: string, attributes: Readonly<Record<string, string>>): Paragraph {
  if (name !== 'h') return { text: '' };
  return { text: '', level: Number(attributes['outline-level'] ?? 1) };
}

function describe(
  paragraph: Paragraph,
  name: string,
  attributes: Readonly<Record<string, string>>,
  { breaks }: Elements,
): void {
  const value = attributes['val'] ?? '';
  if (breaks.includes(name)) paragraph.text += '\n';
  else if (name === 'tab') paragraph.text += '\t';
  else if (name === 's') paragraph.text += ' ';
  else if (name === 'noBreakHyphen') paragraph.text += '-';
  else if (name === 'pStyle') paragraph.style = value;
  else if (name === 'outlineLvl' && Number(value) < 9) paragraph.level = Number(value) + 1;
  else if (name === 'numPr') paragraph.isListed = true;
}
