import { extname } from 'node:path/posix';
import { isNegated } from '../../core/text/skill-negation.js';
import type { Finding } from '../../ports/skill-scanner.js';
import type { SkillFile } from '../../ports/skill.js';
import { blobHits } from './blob-hits.js';
import { chainHits } from './chain-hits.js';
import { decodedViews } from './decoded-views.js';
import { flowHits } from './flow-hits.js';
import type { Hit } from './hit.js';
import { readMarkdown } from './markdown.js';
import { createNameEngine } from './name-engine.js';
import { readSkill, type SkillText } from './read-skill.js';
import type { Rule } from './rule.js';
import { RULES } from './rules/rule-pack.js';
import { findSecrets } from './secret-engine.js';
import { createSyntaxEngine } from './syntax-engine.js';
import { tellFindings } from './tell-findings.js';
import { createTextEngine, type TextMatch } from './text-engine.js';
import { foldedView, joinedView, plainView, type View } from './view.js';

const textEngine = createTextEngine(of('text'));
const syntaxEngine = createSyntaxEngine(of('syntax'));
const nameEngine = createNameEngine(of('names'));
const [encodedRule] = of('encoded');
const [secretRule] = of('secretlint');

function of<E extends Rule['engine']>(engine: E): Extract<Rule, { engine: E }>[] {
  return RULES.filter((rule): rule is Extract<Rule, { engine: E }> => rule.engine === engine);
}

/** Everything there is to find in a skill. Pure but for its engines; may take for ever or end the process, so it runs in a
 *  process of its own. */
export async function scanSkill(files: readonly SkillFile[]): Promise<Finding[]> {
  const { hits, texts } = readSkill(files);
  const secrets: string[] = [];
  for (const text of texts) {
    const found = await scanText(text);
    hits.push(...found.hits);
    secrets.push(...found.secrets);
  }
  return tellFindings(hits, secrets);
}

async function scanText({ path, text }: SkillText): Promise<{ hits: Hit[]; secrets: string[] }> {
  const plain = plainView(path, text);
  const folded = foldedView(plain);
  const readings = [plain, folded, joinedView(folded ?? plain)].filter((view) => view !== undefined);
  const decoded = readings.slice(0, 2).flatMap(decodedViews);
  const hits = [...readings, ...decoded].flatMap(patternHits);
  hits.push(
    ...nameEngine(folded ?? plain).map(hitAt),
    ...blobHits(of('blob'), plain).map(hitAt),
    ...flowHits(of('flow'), folded ?? plain).map(hitAt),
  );
  const found = (await Promise.all([plain, ...decoded].map(secretHits))).flat();
  const own = hits.filter(({ rule }) => rule.category === 'secrets').map(({ match }) => match);
  return {
    hits: [...hits, ...found, ...chainHits(of('chain'), hits)],
    secrets: [...own, ...found.map(({ match }) => match)],
  };
}

/** Of one view, by text and by syntax. What stands in encoded text is told once more, as hidden. */
function patternHits(view: View): Hit[] {
  const isProse = proseOf(view);
  const forbids = (match: TextMatch) =>
    match.rule.severity !== 'critical' && isProse(match.line) && isNegated(match.before, match.after);
  const isHarmless = ({ rule, match }: TextMatch) => rule.unless?.test(match) ?? false;
  const texts = textEngine(view, (match) => (isHarmless(match) || forbids(match) ? 'excused' : 'counts'))
    .filter(({ match }) => !isHarmless(match))
    .map(({ match, excused }) => (excused ? forbidden(hitAt(match)) : hitAt(match)));
  const hits = [...texts, ...syntaxEngine(view).map(hitAt)];
  return view.kind === 'decoded' ? [...hits, ...hiddenHits(view, hits)] : hits;
}

function hiddenHits(view: View, hits: readonly Hit[]): Hit[] {
  if (!encodedRule) return [];
  const told = hits.filter(isGrave).map((hit) => ({ ...hit, rule: encodedRule }));
  const revealed = view.text.split('\n').flatMap((match, line) => {
    return encodedRule.reveals.test(match) ? [hitAt({ rule: encodedRule, view, line, match })] : [];
  });
  return [...told, ...revealed];
}

function forbidden(hit: Hit): Hit {
  return { ...hit, rule: { ...hit.rule, severity: 'info' }, isForbidden: true };
}

function isGrave({ rule: { severity } }: Hit): boolean {
  return severity === 'critical' || severity === 'high' || severity === 'medium';
}

/** Only what people read as prose can be a warning. Code is run, whatever stands around it. */
function proseOf({ file, kind, text }: View): (line: number) => boolean {
  const isDocument = ['.md', '.mdx', '.markdown', '.txt', '.rst', ''].includes(extname(file).toLowerCase());
  return isDocument && kind !== 'decoded' ? readMarkdown(text).isProse : () => false;
}

async function secretHits(view: View): Promise<Hit[]> {
  if (!secretRule) return [];
  const found = await findSecrets(view);
  return found.map(({ line, secret }) => hitAt({ rule: secretRule, view, line, match: secret }));
}

function hitAt({ rule, view, line, match }: { rule: Hit['rule']; view: View; line: number; match: string }): Hit {
  const context = linesOf(view)[line] ?? '';
  return { rule, file: view.file, line: view.lines[line] ?? null, match, context };
}

/** Split once: a hostile file has thousands of hits. */
const split = new WeakMap<View, readonly string[]>();

function linesOf(view: View): readonly string[] {
  const lines = split.get(view) ?? view.text.split('\n');
  split.set(view, lines);
  return lines;
}
