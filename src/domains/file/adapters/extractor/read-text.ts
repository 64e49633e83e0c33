import type { TextPart } from '../../core/part.js';
import { decodeText } from '../../core/text/text-encoding.js';
import { textKindOf } from '../../core/text/text-kind.js';
import { MAX_CHARS } from '../../core/text/well-formed.js';
import { tableOf } from './blocks-to-parts.js';
import type { ReadContent } from './read-content.js';

/** No encoding takes more bytes for a character, so more bytes are never kept. */
const MAX_BYTES = MAX_CHARS * 4;

/** Text of any kind. Undefined: the bytes are no text. */
export async function readText(bytes: Buffer, name: string): Promise<ReadContent | undefined> {
  const decoded = decodeText(bytes.subarray(0, MAX_BYTES));
  if (!decoded) return undefined;
  const text = decoded.text.replace(/\r\n?/g, '\n');
  const isTruncated = bytes.length > MAX_BYTES;
  const kind = textKindOf(text, name);
  switch (kind) {
    case 'html': {
      const { readHtml } = await import('./read-html.js');
      return readHtml(text);
    }
    case 'csv':
      return { format: 'csv', parts: [await readTable(text, name)], isTruncated };
    case 'markdown':
    case 'text':
      return { format: kind, parts: [{ kind, text }], isTruncated };
    case 'code':
    case 'json':
    case 'xml':
      return { format: kind, parts: [{ kind: 'code', text }], isTruncated };
  }
}

/** The separator is found by the content. */
async function readTable(text: string, name: string): Promise<TextPart> {
  const { default: Papa } = await import('papaparse');
  // Nothing separates the values of one column, and the search for a separator would find some letter.
  const isOneColumn = !/[,;\t|]/.test(text.slice(0, 10_000));
  const searched = isOneColumn ? ',' : '';
  const delimiter = /\.(?:tsv|tab)$/i.test(name) ? '\t' : searched;
  const { data } = Papa.parse<string[]>(text.slice(0, MAX_CHARS), { delimiter, skipEmptyLines: true });
  return tableOf(data.map((row) => row.map((value) => value.replace(/\s+/g, ' ').trim()).join('\t')));
}
