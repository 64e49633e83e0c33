import type { Extraction } from '../../../../src/domains/file/ports/extractor.js';

/** All that a person sees of a file, with white space folded. */
export function shownIn({ parts }: Pick<Extraction, 'parts'>): string {
  const texts = parts.flatMap(({ title, header, text }) => [title ?? '', header ?? '', text]);
  return texts.join('\n').replace(/\s+/g, ' ').trim();
}
