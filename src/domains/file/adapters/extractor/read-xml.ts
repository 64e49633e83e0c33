import { SaxesParser } from 'saxes';
import { decodeText } from '../../core/text/text-encoding.js';
import { refuse } from './refuse.js';

export interface XmlReader {
  /** Names and attributes come without their prefix, because each program has prefixes of its own. */
  open?(name: string, attributes: Readonly<Record<string, string>>): void;
  close?(name: string): void;
  text?(text: string): void;
}

/** The parser gets the text in pieces, because it copies what it was given. */
const PIECE = 65_536;

const DAMAGED =
  'A part of the file is damaged. Open the file in the program that made it, save it again and upload it.';

/** Reads a part of a document. Entities besides the five predefined ones are neither resolved nor expanded, and a part that declares
 *  any is refused, because no document needs them. */
export function readXml(bytes: Buffer, reader: XmlReader): void {
  const text = decodeText(bytes)?.text;
  if (text === undefined) throw refuse(DAMAGED);
  const parser = new SaxesParser({ position: false });
  parser.on('doctype', (doctype) => {
    if (/<!ENTITY/i.test(doctype)) throw refuse('A part of the file declares XML entities, so it was not read.');
  });
  parser.on('error', (error) => {
    throw refuse(DAMAGED, error);
  });
  parser.on('opentag', ({ name, attributes }) =>
    reader.open?.(localOf(name), localAttributes(attributes as Record<string, string>)),
  );
  parser.on('closetag', ({ name }) => reader.close?.(localOf(name)));
  parser.on('text', (found) => reader.text?.(found));
  parser.on('cdata', (found) => reader.text?.(found));
  for (let at = 0; at < text.length; at += PIECE) parser.write(text.slice(at, at + PIECE));
  parser.close();
}

function localOf(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}

function localAttributes(attributes: Record<string, string>): Record<string, string> {
  // `r:id` is the id of a relation, and `id` beside it is another.
  const pairs = Object.entries(attributes).map(([name, value]) => [name === 'r:id' ? name : localOf(name), value]);
  return Object.fromEntries(pairs) as Record<string, string>;
}
