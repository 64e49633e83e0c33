import type { TextPart } from '../../core/part.js';
import type { Block } from './read-blocks.js';

/** A table with more rows is cut with its header repeated. A shorter table is better found together with the text around it. */
const LARGE_TABLE = 12;

/** Markdown if the blocks have headings, with large tables as parts of their own, all in their order. */
export function partsOfBlocks(blocks: readonly Block[], levelOf: (block: Block) => number | undefined): TextPart[] {
  const parts: TextPart[] = [];
  const kind = blocks.some((block) => levelOf(block) !== undefined) ? 'markdown' : 'text';
  let lines: string[] = [];
  let [heading, before] = ['', ''];

  function close(): void {
    if (lines.length > 0) parts.push({ kind, text: lines.join('\n'), ...(before && { title: before }) });
    [lines, before] = [[], heading];
  }

  for (const block of blocks) {
    if ('rows' in block) {
      if (block.rows.length > LARGE_TABLE) {
        close();
        parts.push({ ...tableOf(block.rows), ...(heading && { title: heading }) });
      } else lines.push(...block.rows, '');
      continue;
    }
    const level = levelOf(block);
    const text = block.text.trim();
    if (text === '') continue;
    if (level !== undefined) {
      heading = text.replace(/\s+/g, ' ');
      lines.push(`${'#'.repeat(Math.min(6, level))} ${heading}`, '');
    } else if (block.isListed) lines.push(`- ${text}`);
    else lines.push(text, '');
  }
  close();
  return parts;
}

/** The first row is the header. */
export function tableOf(rows: readonly string[]): TextPart {
  const [header = '', ...others] = rows;
  return { kind: 'table', header, text: others.join('\n') };
}
