import { frontMatterSource, readFrontMatter } from '../text/front-matter.js';
import { grantsIn } from './grants.js';
import { linesOf, plainOf } from '../text/plain-text.js';

const TOOLS = /allowed[-_ ]?tools|\btools\b|\bpermissions?\b/i;

/** A tool that runs any command, or a star for all tools. Round brackets after the tool limit it, unless they hold a
 *  star. */
const UNLIMITED =
  /\b(?:bash|shell|terminal|execute|run_in_terminal)\b(?!\s*\()|\b(?:bash|shell)\(\s*:?\*|(?:^|["'\s,[])\*/i;

/** Marks of YAML that stand for other characters once it is read. Front matter that can't be read may hide any word
 *  behind them. */
const ENCODED = /\\|!!/;

/** The line, from 0, of the front matter that grants a shell without a limit, in whatever YAML form. Null: no line
 *  does. Front matter that can't be read counts as a grant if it may be one. */
export function shellGrantLine(text: string): number | null {
  const start = text.trimStart();
  const read = readFrontMatter(start);
  if (read.is === 'none') return null;
  const isGranted = read.is === 'read' ? grantsShell(read.data) : mayGrantShell(frontMatterSource(start));
  if (!isGranted) return null;
  return Math.max(
    0,
    linesOf(text).findIndex((line) => TOOLS.test(plainOf(line))),
  );
}

function grantsShell(data: unknown): boolean {
  return grantsIn(data)
    .filter(({ key, isDenied }) => TOOLS.test(key) && !isDenied)
    .some(({ within, value }) => [...within, value].some((each) => UNLIMITED.test(plainOf(each))));
}

function mayGrantShell(source: string): boolean {
  const plain = linesOf(source).map(plainOf).join('\n');
  return ENCODED.test(plain) || (TOOLS.test(plain) && UNLIMITED.test(plain));
}
