import fc from 'fast-check';
import type { Pipeline, RestReason, StageRow, StateRow } from '../../src/core/pipeline.js';

/** Random tables of every shape, sound by construction: states are numbered and lead to later ones only, and what may not
 *  stand behind what is left out while building. So a refusal of one is a defect of the checks. */
export function soundTables(): fc.Arbitrary<Pipeline> {
  return fc.tuple(fc.integer({ min: 1, max: 7 }), fc.integer({ min: 1, max: 3 }), picks()).map(buildTable);
}

export type Choose = () => number;

/** An endless series of choices; shrinking makes them 0, the plainest. */
export function picks(): fc.Arbitrary<Choose> {
  return fc.array(fc.nat(1_000), { minLength: 100, maxLength: 100 }).map((numbers) => {
    let at = 0;
    return () => numbers[at++ % numbers.length] ?? 0;
  });
}

type Kind = 'does' | 'awaits' | 'rests';

interface Draft {
  name: string;
  kind: Kind;
  then: Record<string, string>;
  stages: StageRow[];
  /** Entered otherwise than by a stage's outcome or a batch: no fan-out comes first, and it admits all. */
  isPlain: boolean;
}

const REASONS: readonly RestReason[] = ['awaiting_upload', 'backlog', 'not_due'];

function buildTable([size, endings, pick]: [size: number, endings: number, pick: Choose]): Pipeline {
  const ends = Array.from({ length: endings }, (_, at) => `END${String(at)}`);
  const drafts = Array.from({ length: size }, (_, at) => draftOf(at, pick));
  for (const [at, draft] of drafts.entries()) {
    connect(drafts, at, pick);
    addStages(draft, pick, () => wayOut(drafts.slice(at + 1), ends, pick, true));
    addOutcomes(draft, pick, () => wayOut(drafts.slice(at + 1), ends, pick, draft.kind === 'awaits'));
  }
  for (const [at, end] of ends.entries()) Object.assign(last(drafts).then, { [`end${String(at)}`]: end });
  const endRows = ends.map((end, at): [string, StateRow] => [end, endRow(at, drafts, pick)]);
  markPlain(drafts);
  for (const draft of drafts) spread(drafts, draft, pick);

  const awaiting = drafts.find(({ kind }) => kind === 'awaits');
  const exhausted = one(ends, pick);
  if (awaiting) awaiting.isPlain = true;
  return {
    name: 'random',
    start: 'S0',
    sweep: { every: '10s', staleAfter: '5s', stuckAfter: '15s' },
    rescue: {
      budget: pick() % 4,
      backoff: ['2s', '5s'],
      budgetResetAfter: '24h',
      oldestRescued: '7d',
      exhausted: awaiting && pick() % 2 === 1 ? { LLM_ERROR: awaiting.name, other: exhausted } : exhausted,
      ...(drafts[0]?.kind !== 'awaits' && pick() % 2 === 1 && { resumesAt: 'S0' }),
    },
    cancelled: one(ends, pick),
    states: Object.fromEntries([...drafts.map((draft) => [draft.name, rowOf(draft, pick)] as const), ...endRows]),
  };
}

function draftOf(at: number, pick: Choose): Draft {
  const kinds = ['does', 'does', 'does', 'awaits', 'rests'] as const;
  return { name: `S${String(at)}`, kind: one(kinds, pick), then: {}, stages: [], isPlain: at === 0 };
}

/** Every state but the first gets a way in from an earlier one, so none is unreached. */
function connect(drafts: readonly Draft[], at: number, pick: Choose): void {
  if (at === 0) return;
  Object.assign(one(drafts.slice(0, at), pick).then, { [`to${String(at)}`]: `S${String(at)}` });
}

function wayOut(later: readonly Draft[], ends: readonly string[], pick: Choose, makesPlain: boolean): string {
  const draft = later[pick() % (later.length + 2)];
  if (!draft) return one(ends, pick);
  draft.isPlain ||= makesPlain;
  return draft.name;
}

function addStages(draft: Draft, pick: Choose, wayOutOf: () => string): void {
  if (draft.kind !== 'does') return;
  draft.stages = Array.from({ length: 1 + (pick() % 4) }, (_, at): StageRow => {
    const spent = one([{ move: '' }, 'skip', 'leave'] as const, pick);
    return {
      stage: `${draft.name.toLowerCase()}x${String(at)}`,
      tries: 1 + (pick() % 5),
      within: '10s',
      spent: typeof spent === 'object' ? { move: wayOutOf() } : spent,
      ...(pick() % 4 === 3 && { short: true }),
    };
  });
}

function addOutcomes(draft: Draft, pick: Choose, wayOutOf: () => string): void {
  const outcomes = draft.kind === 'does' ? ['done', 'other'] : ['yes', 'no'];
  for (const outcome of outcomes.slice(0, 1 + (pick() % 2))) draft.then[outcome] = wayOutOf();
}

function endRow(at: number, drafts: readonly Draft[], pick: Choose): StateRow {
  const ends = at % 2 === 0 ? 'failed' : 'done';
  if (pick() % 2 === 0) return { ends };
  const reopened = one(drafts, pick);
  reopened.isPlain = true;
  return { ends, reopens: reopened.name };
}

/** Some rests are left by a claim, and what a claim or a decision leads to is plain. */
function markPlain(drafts: readonly Draft[]): void {
  for (const [at, draft] of drafts.entries()) {
    const claimed = drafts.slice(at + 1).find(({ kind }) => kind === 'does');
    if (draft.kind === 'rests' && claimed && at % 2 === 0) draft.then['claimed'] = claimed.name;
    const targets = draft.kind === 'does' ? [] : Object.values(draft.then);
    const plain = draft.kind === 'rests' ? targets.filter((to) => to === draft.then['claimed']) : targets;
    for (const other of drafts) other.isPlain ||= plain.includes(other.name);
  }
}

/** Turns stages into fan-outs where whatever comes before always returns their units. */
function spread(drafts: readonly Draft[], draft: Draft, pick: Choose): void {
  for (const [at, stage] of draft.stages.entries()) {
    const before = at === 0 ? feedersOf(drafts, draft) : [draft.stages[at - 1]];
    const isFed = before.length > 0 && before.every((each) => each && !each.fanOut && each.spent !== 'skip');
    if (!isFed || stage.short || pick() % 2 === 0) continue;
    if (at === draft.stages.length - 1 && !draft.then['done']) continue;
    if (at === draft.stages.length - 1 && feedsFirst(drafts, draft)) continue;
    if (typeof stage.spent !== 'object') stage.spent = { move: 'END0' };
    stage.fanOut = { width: 1 + (pick() % 8), needs: one(['all', 'any', 'asked'] as const, pick) };
  }
}

/** The last stages of the states that lead here; none where something else leads here too. */
function feedersOf(drafts: readonly Draft[], draft: Draft): (StageRow | undefined)[] {
  const sources = drafts.filter(({ then }) => Object.values(then).includes(draft.name));
  if (draft.isPlain || sources.some(({ kind }) => kind !== 'does')) return [];
  return sources.map(({ stages }) => stages.at(-1));
}

function feedsFirst(drafts: readonly Draft[], draft: Draft): boolean {
  return drafts.some(({ name, stages }) => stages[0]?.fanOut && Object.values(draft.then).includes(name));
}

function rowOf({ kind, then, stages, isPlain }: Draft, pick: Choose): StateRow {
  const limit = !isPlain && pick() % 3 === 2 ? { admits: 1 + (pick() % 9) } : {};
  if (kind === 'awaits') return { awaits: one(['reviewer', 'owner'], pick), then, ...limit };
  if (kind === 'rests') return { rests: one(REASONS, pick), then, ...limit };
  const [only] = stages;
  return { does: stages.length === 1 && only && pick() % 2 === 0 ? only : stages, then, ...limit };
}

function one<T>(all: readonly T[], pick: Choose): T {
  const chosen = all[pick() % all.length];
  if (chosen === undefined) throw new Error('there is nothing to choose from');
  return chosen;
}

function last<T>(all: readonly T[]): T {
  return one(all, () => all.length - 1);
}
