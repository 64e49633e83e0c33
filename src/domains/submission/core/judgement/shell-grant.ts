import { frontMatterSource, readFrontMatter } from '../text/front-matter.js';
import { grantsIn } from './grants.js';
import { linesOf, plainOf } from '../text/plain-text.js';

const TOOLS = /allowed[-_ ]?tools|\btools\b|\bpermissions?\b/i;

/** A tool that runs any command, or all tools there are. What follows in round brackets limits it, unless it is a star. */
const UNLIMITED =
  /\b(?:bash|shell|terminal|execute|run_in_terminal)\b(?!\s*\()|\b(?:bash|shell)\(\s*:?\*|(?:^|["'\s,[])\*/i;

/** Signs that stand for others once YAML is read: what can't be read may say anything by them. */
const ENCODED = /\\|!!/;

/** The line, from 0, of the front matter that grants a shell without a limit, however its YAML is written; null: none does. What
 *  can't be read grants whatever it may mean. */
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
