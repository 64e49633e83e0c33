import type { TextPart } from '../../core/part.js';
import { partsOfBlocks } from './blocks-to-parts.js';
import type { OpenedZip } from './open-zip.js';
import { partsNamed } from './package-parts.js';
import { type Block, OFFICE, readBlocks } from './read-blocks.js';
import { readXml } from './read-xml.js';
import type { ReadContent } from './read-content.js';

/** What stands beside the body, in the order in which it follows it. */
const BESIDE: readonly { title: string; file: RegExp }[] = [
  { title: 'Headers and footers', file: /^(?:header|footer)\d*\.xml$/ },
  { title: 'Footnotes', file: /^(?:footnotes|endnotes)\.xml$/ },
  { title: 'Comments', file: /^comments\.xml$/ },
  { title: 'Diagrams', file: /^(?:diagrams\/data|charts\/chart)\d*\.xml$/ },
];

/** The paragraphs and tables of the body with their headings, and all text that stands beside it. Deleted text is left out. */
export async function readDocx(zip: OpenedZip, main: string): Promise<ReadContent> {
  const folder = main.slice(0, main.lastIndexOf('/') + 1);
  const levels = await headingLevels(zip, `${folder}styles.xml`);
  const levelOf = (block: Block) =>
    'rows' in block ? undefined : (block.level ?? (block.style === undefined ? undefined : levels.get(block.style)));
  const body = partsOfBlocks(readBlocks(await zip.read(main), OFFICE), levelOf);
  const beside: TextPart[] = [];
  for (const { title, file } of BESIDE) beside.push(...(await readBeside(zip, { title, file, folder })));
  return { format: 'docx', parts: [...body, ...beside] };
}

/** Each section has its own headers, mostly with the same text, which is kept once. */
async function readBeside(
  zip: OpenedZip,
  { title, file, folder }: { title: string; file: RegExp; folder: string },
): Promise<TextPart[]> {
  const texts = new Set<string>();
  for (const name of partsNamed(zip, /\.xml$/)) {
    if (!name.startsWith(folder) || !file.test(name.slice(folder.length))) continue;
    const blocks = readBlocks(await zip.read(name), OFFICE);
    texts.add(
      blocks
        .flatMap((block) => ('rows' in block ? block.rows : [block.text]))
        .join('\n')
        .trim(),
    );
  }
  const text = [...texts].filter((each) => each !== '').join('\n\n');
  return text === '' ? [] : [{ kind: 'text', title, text }];
}

/** Programs translate the ids of styles, but not the names of the headings. */
async function headingLevels(zip: OpenedZip, path: string): Promise<Map<string, number>> {
  const levels = new Map<string, number>();
  if (!zip.has(path)) return levels;
  let style = '';
  readXml(await zip.read(path), {
    open(name, attributes) {
      if (name === 'style') style = attributes['styleId'] ?? '';
      const heading = name === 'name' ? /^(?:heading (\d)|(title))$/i.exec(attributes['val'] ?? '') : null;
      if (heading) levels.set(style, Number(heading[1] ?? 1));
    },
  });
  return levels;
}
