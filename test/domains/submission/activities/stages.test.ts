import { describe, expect, it } from 'vitest';
import { SUBMISSION_CODES } from '../../../../src/domains/submission/errors.js';
import { submissionStages, type SubmissionDeps } from '../../../../src/domains/submission/activities/stages.js';
import { AppError } from '../../../../src/core/errors.js';
import { DEFAULT_THRESHOLDS } from '../../../../src/domains/submission/core/judgement/judgement.js';
import type { Judge, Judgement } from '../../../../src/domains/submission/ports/judge.js';
import type { StageContext } from '../../../../src/ports/stage.js';
import { skillOf } from '../support/skills.js';
import { JUDGEMENT } from '../support/submission-ends.js';

const skill = skillOf('# Use\nIt tidies up.');

function judgeOf(judge: () => Promise<Judgement>, thresholds = DEFAULT_THRESHOLDS): Judge {
  return { version: 'test', thresholds, judge };
}

/** A skill that was fetched, and ports that are asked for nothing but what a test gives. */
function stagesWith(given: Partial<SubmissionDeps>) {
  const unasked = () => Promise.reject(new Error('nobody asked for this'));
  return submissionStages({
    find: () =>
      Promise.resolve({
        ...{ repoUrl: 'https://github.com/ada/skills', skillName: 'tidy', tier1: null, tier2: null },
        ...{ commit: skill.commit, contentHash: skill.contentHash },
      }),
    findFiles: () => Promise.resolve([...skill.files]),
    findJudgement: () => Promise.resolve(null),
    vendorOf: () => null,
    ...{ keepContent: unasked, publish: unasked },
    source: { fetch: unasked },
    scanner: { scan: unasked },
    judge: judgeOf(unasked),
    mayJudgeApprove: true,
    ...given,
  });
}

function contextOf(reports: unknown[] = []): StageContext {
  return {
    item: { id: 'x', pipeline: 'submission', owner: 'ada', visit: 1 },
    ...{ unit: '', attempt: 1, checkpoint: null, signal: new AbortController().signal },
    progress: (report) => void reports.push(report),
    keep: () => Promise.resolve(),
  };
}

describe('judgeTier2', () => {
  it('asks a person, with the reason, where the judge cannot judge the content: that is no verdict', async () => {
    const judge = judgeOf(() => Promise.reject(new AppError(SUBMISSION_CODES.judge_declined, 'the skill is too long')));

    const result = await stagesWith({ judge }).judgeTier2(contextOf());

    expect(result).toEqual({ outcome: 'unjudged', note: { reason: 'the skill is too long' } });
  });

  it.each(['judge_unavailable', 'judge_refused'] as const)('fails, to be tried again, on %s', async (code) => {
    const judge = judgeOf(() => Promise.reject(new AppError(SUBMISSION_CODES[code], 'away')));

    await expect(stagesWith({ judge }).judgeTier2(contextOf())).rejects.toMatchObject({ code });
  });

  it.each([
    [{ score: 70 }, 'concerns', { concerns: ['It reads every key.'] }],
    [
      { score: 90, privileges: [{ kind: 'sudo', file: 'a', line: 1, text: 'sudo' }], concerns: [] },
      'concerns',
      { concerns: [] },
    ],
    [{ score: 90, concerns: [] }, 'pass', {}],
  ] as const)(
    'of %j answers %s, and names the concerns to whoever reviews it, also that there are none',
    async (change, outcome, named) => {
      const judgement = { ...JUDGEMENT, ...change } as Judgement;
      const judge = judgeOf(() => Promise.resolve(judgement));

      const result = await stagesWith({ judge }).judgeTier2(contextOf());

      expect(result).toMatchObject({ outcome });
      expect(result.note).toEqual({ score: judgement.score, model: 'rules-v1', ...named });
    },
  );
});

describe('a judgement that was kept', () => {
  const fresh = { ...JUDGEMENT, score: 90, concerns: [] };

  it.each([
    ['is used again', JUDGEMENT, 41],
    ['by an older version, without its limits, is made anew', { ...JUDGEMENT, limits: undefined }, 90],
    ['by an older version, of another rubric, is made anew', { ...JUDGEMENT, criteria: { style: 10 } }, 90],
  ])('%s', async (_, kept, score) => {
    const judge = judgeOf(() => Promise.resolve(fresh));
    const findJudgement = () => Promise.resolve(kept as Judgement);

    expect(await stagesWith({ judge, findJudgement }).judgeTier2(contextOf())).toMatchObject({ note: { score } });
  });
});

describe('thresholds that are changed', () => {
  const [usual, lowered] = [DEFAULT_THRESHOLDS, { approve: 70, review: 50 }];
  /** As good as a skill can be of which the judge did not see a file. */
  const cappedFor = ({ approve }: typeof usual): Judgement => ({
    ...{ ...JUDGEMENT, concerns: [], score: approve - 1 },
    limits: [{ to: approve - 1, because: 'The judge did not see all of x.' }],
  });

  it('never let a judgement that was capped for others approve: the skill is judged anew', async () => {
    const kept = new Map<string, Judgement>();
    const findJudgement = (_hash: string, key: string) => Promise.resolve(kept.get(key) ?? null);
    const judgedUnder = async (thresholds: typeof usual) => {
      const judge = judgeOf(() => Promise.resolve(cappedFor(thresholds)), thresholds);
      const { save, ...result } = await stagesWith({ judge, findJudgement }).judgeTier2(contextOf());
      const [, , , key = '', judgement = ''] = (await valuesWrittenBy(save)) as string[];
      kept.set(key, JSON.parse(judgement) as Judgement);
      return result;
    };

    expect(await judgedUnder(usual)).toMatchObject({ outcome: 'concerns', note: { score: 79 } });
    expect(await judgedUnder(lowered)).toMatchObject({ outcome: 'concerns', note: { score: 69 } });
    expect(await judgedUnder(usual)).toMatchObject({ outcome: 'concerns', note: { score: 79 } });
    expect(kept.size).toBe(2);
  });

  it.each([
    [usual, 'concerns', {}],
    [{ approve: 60, review: 40 }, 'pass', {}],
    [{ approve: 90, review: 80 }, 'fail', { needed: 80 }],
  ] as const)('decide a score of 70: %j', async (thresholds, outcome, named) => {
    const judge = judgeOf(() => Promise.resolve({ ...JUDGEMENT, score: 70 }), thresholds);

    const { note } = await stagesWith({ judge }).judgeTier2(contextOf());
    expect(await stagesWith({ judge }).judgeTier2(contextOf())).toMatchObject({ outcome });
    expect(note).toMatchObject(named);
  });
});

describe('a judge that may not approve', () => {
  const good = { ...JUDGEMENT, score: 100, concerns: [] };
  const CONCERN = 'no model has judged this skill; a person decides';

  it.each([
    ['judged now', null],
    ['kept by the judge of an earlier submission', good],
  ])('leaves a skill that it would approve to a person, by a judgement %s', async (_, kept) => {
    const judge = judgeOf(() => Promise.resolve(good));
    const stages = stagesWith({ judge, findJudgement: () => Promise.resolve(kept), mayJudgeApprove: false });

    const { save, ...result } = await stages.judgeTier2(contextOf());

    expect(result).toEqual({ outcome: 'concerns', note: { score: 100, model: 'rules-v1', concerns: [CONCERN] } });
    expect(await valuesWrittenBy(save)).toContain(JSON.stringify(good));
  });

  it.each([
    [{ score: 70 }, 'concerns'],
    [{ score: 40 }, 'fail'],
  ] as const)('with a judgement of %j answers %s, without that concern', async (change, outcome) => {
    const judge = judgeOf(() => Promise.resolve({ ...good, ...change }));

    const result = await stagesWith({ judge, mayJudgeApprove: false }).judgeTier2(contextOf());

    expect(result).toMatchObject({ outcome });
    expect(JSON.stringify(result.note)).not.toContain(CONCERN);
  });
});

/** The values of all statements that a stage's save makes. */
async function valuesWrittenBy(save: unknown): Promise<unknown[]> {
  const written: unknown[] = [];
  const query = (_text: string, values: unknown[]) => {
    written.push(...values);
    return Promise.resolve({ rows: [{ contentHash: skill.contentHash }] });
  };
  await (save as (transaction: unknown) => Promise<void>)({ query });
  return written;
}

describe('scanTier1', () => {
  it('shows how many it waits behind, and when its own scan begins', async () => {
    const reports: unknown[] = [];
    const scanner: SubmissionDeps['scanner'] = {
      scan(_files, _signal, onTurn) {
        for (const ahead of [2, 1, 0]) onTurn?.(ahead);
        return Promise.resolve({ verdict: 'pass', findings: [], durationMs: 1 });
      },
    };

    await stagesWith({ scanner }).scanTier1(contextOf(reports));

    expect(reports).toEqual([{ waitsBehind: 2 }, { waitsBehind: 1 }, { scanning: 1 }]);
  });
});
