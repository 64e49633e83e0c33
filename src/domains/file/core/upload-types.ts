const OFFICE = 'application/vnd.openxmlformats-officedocument';

/** The media type that stands for each ending of a name. It also says which endings are taken where a caller names no type. */
const BY_ENDING: Readonly<Record<string, string>> = {
  pdf: 'application/pdf',
  docx: `${OFFICE}.wordprocessingml.document`,
  xlsx: `${OFFICE}.spreadsheetml.sheet`,
  pptx: `${OFFICE}.presentationml.presentation`,
  md: 'text/markdown',
  markdown: 'text/markdown',
  csv: 'text/csv',
  tsv: 'text/tab-separated-values',
  html: 'text/html',
  htm: 'text/html',
  json: 'application/json',
  xml: 'application/xml',
  yaml: 'application/yaml',
  yml: 'application/yaml',
  toml: 'application/toml',
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  bmp: 'image/bmp',
  tif: 'image/tiff',
  tiff: 'image/tiff',
};

/** Endings of plain text and of code. */
const TEXT_ENDINGS =
  'txt text log rst tex ini cfg conf env properties sql sh bash zsh ps1 bat js mjs cjs jsx ts tsx css scss less py rb php pl lua r java kt scala groovy go rs c h cc cpp hpp cs swift m mm dart ex exs erl hs clj vue svelte graphql proto dockerfile makefile jsonl ndjson'.split(
    ' ',
  );

/** Types besides `text/…` that callers give for text and code. */
const TEXT_TYPES = [
  'application/javascript',
  'application/x-javascript',
  'application/typescript',
  'application/x-sh',
  'application/sql',
  'application/x-yaml',
  'application/x-ndjson',
  'application/xhtml+xml',
  'application/x-httpd-php',
];

const ANY = 'application/octet-stream';
const KNOWN = new Set([...Object.values(BY_ENDING), ...TEXT_TYPES]);

/** What is taken, as a refusal says it. */
export const TAKEN = `text/*, ${[...KNOWN].filter((type) => !type.startsWith('text/')).join(', ')}`;

/** The type without its parameters, in small letters: `Text/Plain; charset=utf-8` is `text/plain`. */
function bareType(mimeType: string): string {
  return (mimeType.split(';', 1)[0] ?? '').trim().toLowerCase();
}

/** The type under which a file is stored. Null: it is not taken. The content decides later what the file is; until then a name's ending
 *  decides where the caller only says that there are bytes. */
export function takenType(name: string, mimeType: string): string | null {
  const type = bareType(mimeType);
  if (type === ANY) return typeByName(name);
  return /^text\/[\w.+-]+$/.test(type) || KNOWN.has(type) ? type : null;
}

/** The type that the name's ending stands for. Null: the ending is none that is taken. */
export function typeByName(name: string): string | null {
  const ending = name.slice(name.lastIndexOf('.') + 1).toLowerCase();
  if (Object.hasOwn(BY_ENDING, ending)) return BY_ENDING[ending] ?? null;
  return TEXT_ENDINGS.includes(ending) ? 'text/plain' : null;
}

export function isImage(type: string): boolean {
  return type.startsWith('image/');
}
