import type { TextPart } from '../../core/part.js';
import { refuse } from './refuse.js';
import type { OpenedZip } from './open-zip.js';
import { relationsOf } from './package-parts.js';
import { type Block, OFFICE, readBlocks } from './read-blocks.js';
import type { ReadContent } from './read-content.js';
import { readXml } from './read-xml.js';

/** Parts of a slide that are files of their own and hold text. */
const BESIDE = ['diagramData', 'chart', 'notesSlide', 'comments'];

/** The slides in the order in which they are shown, each with its notes. */
export async function readPptx(zip: OpenedZip, main: string): Promise<ReadContent> {
  const slides = await slidesInOrder(zip, main);
  if (slides.length === 0 && !zip.has(main)) throw refuse('The presentation is damaged. Save it again and upload it.');
  const parts: TextPart[] = [];
  for (const [at, slide] of slides.entries()) parts.push(await readSlide(zip, slide, at + 1));
  return { format: 'pptx', parts, pages: slides.length };
}

async function slidesInOrder(zip: OpenedZip, main: string): Promise<string[]> {
  const relations = new Map((await relationsOf(zip, main)).map(({ id, target }) => [id, target]));
  const slides: string[] = [];
  readXml(await zip.read(main), {
    open(name, attributes) {
      const slide = name === 'sldId' ? relations.get(attributes['r:id'] ?? attributes['id'] ?? '') : undefined;
      if (slide) slides.push(slide);
    },
  });
  return slides;
}

async function readSlide(zip: OpenedZip, slide: string, page: number): Promise<TextPart> {
  const blocks = readBlocks(await zip.read(slide), OFFICE);
  const title = blocks.flatMap((block) => ('rows' in block || !block.isTitle ? [] : [block.text.trim()])).join(' ');
  const beside = (await relationsOf(zip, slide)).filter(({ type }) => BESIDE.includes(type));
  const texts = [textOf(blocks)];
  for (const { target } of beside) texts.push(textOf(readBlocks(await zip.read(target), OFFICE)));
  return { kind: 'text', text: texts.filter((text) => text !== '').join('\n\n'), page, ...(title && { title }) };
}

function textOf(blocks: readonly Block[]): string {
  const lines = blocks.flatMap((block) => ('rows' in block ? block.rows : [block.text]));
  return lines.filter((line) => line.trim() !== '').join('\n');
}
