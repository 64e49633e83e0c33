import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { classifyError } from '../../src/core/error-class.js';
import { type AppError, isAppError, isRetryable } from '../../src/core/errors.js';
import type { Judgement } from '../../src/domains/submission/ports/judge.js';
import type { Skill } from '../../src/domains/submission/ports/skill.js';
import { goodSkill } from '../domains/submission/ports/judge-cases.js';
import { PATIENT } from '../domains/submission/ports/judge-contract.js';
import {
  answerOf,
  API_KEY,
  bomb,
  type Protocol,
  saying,
  startStranger,
  trickling,
  UNHURRIED_MS,
} from '../adapters/model-server.js';
import { type Receiver, startReceiver } from '../adapters/receiver.js';

/** Longer than any test: who is told to stop and does not would hang. */
const NEVER_MS = 600_000;

const MARKER = 'a-sentence-of-the-skill-that-no-log-may-hold';

/** Every judge that asks a model, against servers that behave badly in every way we know. */
export function judgeFailureContract(protocol: Protocol): void {
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

    async function failure(judgement: Promise<Judgement>, errorClass = 'LLM_ERROR'): Promise<AppError> {
      const error: unknown = await judgement.then(
        () => 'a verdict',
        (caught: unknown) => caught,
      );
      if (!isAppError(error)) throw new Error('expected an AppError', { cause: error });
      expect(classifyError(error)).toBe(errorClass);
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

    it.each([400, 401, 402, 403, 404, 405, 422])(
      'takes status %i for no verdict that trying again brings',
      async (status) => {
        server.answer(saying('{"error": {"message": "no"}}', status));

        const error = await failure(judged());

        expect(error.code).toBe('judge_refused');
        expect(isRetryable(error)).toBe(false);
        expect(error.message).toContain(String(status));
      },
    );

    const ofContent: Readonly<Record<string, [() => void, RegExp]>> = {
      'a refusal by a filter': [() => says('', 'filter'), /declined/],
      'half an answer, ended by a filter': [() => says('{"concerns": [', 'filter'), /declined/],
      'status 413': [() => server.answer(saying('too large', 413)), /413.*too long/],
      'a prompt beyond the context, as OpenAI says it': [
        () => server.answer(saying('{"error": {"code": "context_length_exceeded", "message": "…"}}', 400)),
        /400.*too long/,
      ],
      'a prompt beyond the context, as Anthropic says it': [
        () => server.answer(saying('{"error": {"message": "prompt is too long: 208310 tokens > 200000"}}', 400)),
        /400.*too long/,
      ],
      'a policy that the content breaks': [
        () => server.answer(saying('{"error": {"code": "content_policy_violation"}}', 400)),
        /400.*declined/,
      ],
    };

    it.each(Object.keys(ofContent))("takes for the content's own doing, which no other try mends: %s", async (kind) => {
      const [misbehave, said] = ofContent[kind] ?? [];
      misbehave?.();

      const error = await failure(judged(), 'BAD_INPUT');

      expect(error.code).toBe('judge_declined');
      expect(isRetryable(error)).toBe(false);
      expect(error.message).toMatch(said ?? /nothing/);
    });

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

    it('trusts no certificate that nobody vouches for', async () => {
      const stranger = await startStranger();

      const judgement = protocol.create({ url: stranger.url, timeoutMs: UNHURRIED_MS }).judge(goodSkill(), [], PATIENT);

      const error = await failure(judgement.finally(() => stranger.close()));
      expect(error.code).toBe('judge_unavailable');
      expect(error.message).toMatch(/cannot be reached \(.*CERT.*\)/);
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
}
