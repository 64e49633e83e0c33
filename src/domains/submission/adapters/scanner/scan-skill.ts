import { extname } from 'node:path/posix';
import { isNegated } from '../../core/text/skill-negation.js';
import type { ScanFinding } from '../../ports/skill-scanner.js';
import type { SkillFile } from '../../ports/skill.js';
import { blobHits } from './blob-hits.js';
import { chainHits } from './chain-hits.js';
import { decodedViews } from './decoded-views.js';
import { flowHits } from './flow-hits.js';
import type { Hit } from './hit.js';
import { readMarkdown } from './markdown.js';
import { createNameEngine } from './name-engine.js';
import { readSkill, type FileText } from './read-skill.js';
import type { Rule } from './rule.js';
import { RULES } from './rules/rule-pack.js';
import { findSecrets } from './secret-engine.js';
import { createSyntaxEngine } from './syntax-engine.js';
import { tellFindings } from './tell-findings.js';
import { createTextEngine, type TextMatch } from './text-engine.js';
import { foldedView, joinedView, plainView, type View } from './view.js';

const textEngine = createTextEngine(rulesOf('text'));
const syntaxEngine = createSyntaxEngine(rulesOf('syntax'));
const nameEngine = createNameEngine(rulesOf('names'));
const [encodedRule] = rulesOf('encoded');
const [secretRule] = rulesOf('secretlint');

function rulesOf<E extends Rule['engine']>(engine: E): Extract<Rule, { engine: E }>[] {
  return RULES.filter((rule): rule is Extract<Rule, { engine: E }> => rule.engine === engine);
}

/** Runs all rules on a skill. An engine may take for ever or crash the process, so this runs in a process of its
 *  own. */
export async function scanSkill(files: readonly SkillFile[]): Promise<ScanFinding[]> {
  const { hits, texts } = readSkill(files);
  const secrets: string[] = [];
  for (const text of texts) {
    const found = await scanText(text);
    hits.push(...found.hits);
    secrets.push(...found.secrets);
  }
  return tellFindings(hits, secrets);
}

async function scanText({ path, text }: FileText): Promise<{ hits: Hit[]; secrets: string[] }> {
  const plain = plainView(path, text);
  const folded = foldedView(plain);
  const readings = [plain, folded, joinedView(folded ?? plain)].filter((view) => view !== undefined);
  const decoded = readings.slice(0, 2).flatMap(decodedViews);
  const hits = [...readings, ...decoded].flatMap(patternHits);
  hits.push(
    ...nameEngine(folded ?? plain).map(hitAt),
    ...blobHits(rulesOf('blob'), plain).map(hitAt),
    ...flowHits(rulesOf('flow'), folded ?? plain).map(hitAt),
  );
  const found = (await Promise.all([plain, ...decoded].map(secretHits))).flat();
  const own = hits.filter(({ rule }) => rule.category === 'secrets').map(({ match }) => match);
  return {
    hits: [...hits, ...found, ...chainHits(rulesOf('chain'), hits)],
    secrets: [...own, ...found.map(({ match }) => match)],
  };
}

/** Hits of one view by text and by syntax. A hit in decoded text is reported a second time, as hidden. */
function patternHits(view: View): Hit[] {
  const isProse = proseOf(view);
  const forbids = (match: TextMatch) =>
    match.rule.severity !== 'critical' && isProse(match.line) && isNegated(match.before, match.after);
  const isHarmless = ({ rule, match }: TextMatch) => rule.unless?.test(match) ?? false;
  const texts = textEngine(view, (match) => (isHarmless(match) || forbids(match) ? 'excused' : 'counts'))
    .filter(({ match }) => !isHarmless(match))
    .map(({ match, excused }) => (excused ? markForbidden(hitAt(match)) : hitAt(match)));
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

function markForbidden(hit: Hit): Hit {
  return { ...hit, rule: { ...hit.rule, severity: 'info' }, isForbidden: true };
}

function isGrave({ rule: { severity } }: Hit): boolean {
  return severity === 'critical' || severity === 'high' || severity === 'medium';
}

/** Only prose can be a warning. Code is run, whatever text stands around it. */
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

/** Each view is split once, because a hostile file has thousands of hits. */
const split = new WeakMap<View, readonly string[]>();

function linesOf(view: View): readonly string[] {
  const lines = split.get(view) ?? view.text.split('\n');
  split.set(view, lines);
  return lines;
}
