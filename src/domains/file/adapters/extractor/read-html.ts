import { convert, type FormatCallback, type HtmlToTextOptions } from 'html-to-text';
import { cutText, MAX_CHARS } from '../../core/text/well-formed.js';
import type { ReadContent } from './read-content.js';

/** A page that people wrote is never as deep. Deeper elements are left out, because the converter calls itself for each level. */
const MAX_DEPTH = 500;

const heading: FormatCallback = (element, walk, builder, options) => {
  builder.openBlock({ leadingLineBreaks: 2 });
  builder.addLiteral(`${'#'.repeat(Number(options['level']))} `);
  walk(element.children, builder);
  builder.closeBlock({ trailingLineBreaks: 2 });
};

/** Cells of a row are separated by tabs, as in the tables of all other formats. */
const cell: FormatCallback = (element, walk, builder) => {
  walk(element.children, builder);
  builder.addLiteral('\t');
};

const picture: FormatCallback = (element, _walk, builder) => {
  const { alt } = (element.attribs ?? {}) as { alt?: unknown };
  if (typeof alt === 'string' && alt !== '') builder.addInline(alt);
};

const OPTIONS: HtmlToTextOptions = {
  wordwrap: false,
  limits: { maxInputLength: MAX_CHARS, maxDepth: MAX_DEPTH },
  formatters: { heading, cell, picture },
  selectors: [
    ...[1, 2, 3, 4, 5, 6].map((level) => ({ selector: `h${level}`, format: 'heading', options: { level } })),
    ...['script', 'style', 'noscript', 'template', 'svg', 'head'].map((selector) => ({ selector, format: 'skip' })),
    { selector: 'a', options: { ignoreHref: true } },
    { selector: 'img', format: 'picture' },
    { selector: 'table', format: 'block' },
    { selector: 'tr', format: 'block', options: { leadingLineBreaks: 1, trailingLineBreaks: 1 } },
    { selector: 'td', format: 'cell' },
    { selector: 'th', format: 'cell' },
  ],
};

/** The text as a browser shows it, with its headings. Scripts and styles are left out, and nothing is fetched. */
export function readHtml(source: string): ReadContent {
  const kept = cutText(source, MAX_CHARS);
  const title = titleOf(kept);
  const text = convert(kept, OPTIONS)
    .replace(/[^\S\n]+\n/g, '\n')
    .replace(/\n{3,}/g, '\n\n');
  const parts = [{ kind: 'markdown' as const, text, ...(title && { title }) }];
  const only = title && !/\S/.test(text) ? [{ kind: 'text' as const, text: title }] : parts;
  return { format: 'html', parts: only, isTruncated: kept.length < source.length };
}

/** It stands in the head, which is no part of the text. */
function titleOf(source: string): string {
  const [, title = ''] = /<title[^>]{0,200}>([^<]{0,1000})<\/title/i.exec(source.slice(0, 100_000)) ?? [];
  return convert(title, { wordwrap: false }).replace(/\s+/g, ' ').trim();
}
