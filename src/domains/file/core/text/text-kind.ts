export type TextKind = 'html' | 'xml' | 'json' | 'csv' | 'markdown' | 'code' | 'text';

/** Enough to tell a kind, and soon read. */
const SAMPLE = 20_000;

/** Longer texts are not parsed only to learn whether they are JSON. */
const MAX_PARSED = 5_000_000;

/** A comment ends at its first end. If it could end at any, a text of many comments would be matched in exponentially many ways. */
const HTML =
  /^\s*(?:<!--(?:(?!-->)[\s\S])*-->\s*)*(?:<\?xml[^>]*>\s*)?(?:<!--(?:(?!-->)[\s\S])*-->\s*)*<(?:!doctype\s+html|html|head|body)\b/i;

const CODE_NAME =
  /\.(?:[cm]?[jt]sx?|py|pyi|ipynb|rb|rs|go|java|kt|kts|scala|groovy|c|h|cc|cpp|cxx|hpp|hh|cs|fs|vb|swift|mm?|php|pl|pm|r|jl|lua|dart|ex|exs|erl|hs|clj|lisp|el|ml|nim|zig|sol|sql|sh|bash|zsh|fish|ps1|bat|cmd|awk|css|scss|sass|less|vue|svelte|astro|ya?ml|toml|ini|cfg|conf|properties|env|gradle|cmake|tf|proto|graphql|gql|tex|bib|diff|patch|asm|s|f90|pas|vhdl?|v)$|(?:^|\/)(?:dockerfile|makefile|rakefile|gemfile|jenkinsfile)$/i;

/** The kind of a text by its content. The name decides only where a content could be several kinds. */
export function textKindOf(text: string, name: string): TextKind {
  const start = text.slice(0, SAMPLE);
  if (HTML.test(start)) return 'html';
  if (/^\s*<\?xml\b/.test(start)) return 'xml';
  if (isNamed(name, 'json', 'jsonl', 'ndjson', 'geojson') && /^\s*[[{"]/.test(start)) return 'json';
  if (isJson(text)) return 'json';
  if (isNamed(name, 'html', 'htm', 'xhtml') && /<[a-z][^>]*>/i.test(start)) return 'html';
  if (isNamed(name, 'xml', 'svg', 'rss', 'xsd', 'kml', 'gpx') && /^\s*</.test(start)) return 'xml';
  if (start.startsWith('#!/') || CODE_NAME.test(name)) return 'code';
  if (isNamed(name, 'md', 'markdown', 'mdx', 'mkd')) return 'markdown';
  if (isNamed(name, 'csv', 'tsv', 'tab') || isTable(start)) return 'csv';
  return isMarkdown(start) ? 'markdown' : 'text';
}

function isNamed(name: string, ...extensions: readonly string[]): boolean {
  return extensions.includes(/\.([^.]+)$/.exec(name)?.[1]?.toLowerCase() ?? '');
}

function isJson(text: string): boolean {
  if (text.length > MAX_PARSED || !/^\s*(?:\{\s*["}]|\[)/.test(text.slice(0, SAMPLE))) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false; // a text that begins with a bracket
  }
}

/** Headings alone could be the comments of a script, and one more mark of Markdown could be chance. */
function isMarkdown(start: string): boolean {
  const marks = [/^#{1,6} \S/m, /^(?:```|~~~)/m, /\[[^\]\n]+\]\([^)\n]+\)/, /\*\*[^*\n]+\*\*/, /^[*-] \S/m];
  const found = marks.filter((mark) => mark.test(start)).length;
  return /^#{1,6} \S/m.test(start) && found >= 2;
}

/** Every line has the same number of separators. Prose has commas too, but not so evenly. */
function isTable(start: string): boolean {
  const lines = start.split(/\r?\n/).filter((line) => line !== '');
  const whole = (start.length === SAMPLE ? lines.slice(0, -1) : lines).slice(0, 50);
  if (whole.length < 4) return false;
  return ['\t', ';', ',', '|'].some((separator) => {
    const counts = whole.map((line) => line.replace(/"[^"]*"/g, '').split(separator).length);
    const least = separator === ',' ? 3 : 2;
    return (counts[0] ?? 0) >= least && counts.every((count) => count === counts[0]);
  });
}
