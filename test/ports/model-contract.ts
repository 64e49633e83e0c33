import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import type { ModelWords } from '../../src/adapters/model-failure.js';
import { classifyError } from '../../src/core/error-class.js';
import { type AppError, isAppError, isRetryable } from '../../src/core/errors.js';
import type { Model, ModelAnswer, Question } from '../../src/ports/model.js';
import { bomb, type Ending, saying, startUntrustedServer, trickling } from '../adapters/model-server.js';
import { type Receiver, startReceiver } from '../adapters/receiver.js';

/** The differences between the services that a test must know. */
export interface ModelService {
  name: string;
  create(url: string): Model;
  /** The service's whole answer around the model's text. It tells of 7 tokens in and 3 out. */
  envelope(text: string, ending?: Ending): string;
  /** The header of a request that holds the key. */
  keyHeader: string;
}

export const API_KEY = 'sk-the-key-that-nobody-may-see';

export const WORDS: ModelWords = { role: 'painter', content: 'picture', variables: 'PAINTER' };

/** Only a hung test gets there. */
const UNHURRIED_MS = 25_000;

/** Longer than any test, so that a model that ignores its signal hangs the test. */
const NEVER_MS = 600_000;

/** Never aborted within a test. */
export const PATIENT = new AbortController().signal;

const MARKER = 'a-sentence-of-the-prompt-that-no-log-may-hold';

const Colour = z.object({ colour: z.enum(['red', 'green']), points: z.literal([0, 1, 2]) });
export type Colour = z.infer<typeof Colour>;

export const ANSWER: Colour = { colour: 'green', points: 2 };

export function questionOf(given: Partial<Question<Colour>> = {}): Question<Colour> {
  return {
    system: 'You name colours. Answer with JSON.',
    prompt: 'The colour of grass?',
    schema: Colour,
    answerName: 'colour',
    timeoutMs: UNHURRIED_MS,
    ...given,
  };
}

/** The promises of the port, kept against servers that behave well, and badly in every way we know. */
export function modelContract(service: ModelService): void {
  describe(`${service.name} keeps a model's promises`, () => {
    let server: Receiver;
    let elsewhere: Receiver;
    beforeAll(async () => {
      [server, elsewhere] = await Promise.all([startReceiver(), startReceiver()]);
    });
    afterAll(() => Promise.all([server.close(), elsewhere.close()]));

    function ask(given: Partial<Question<Colour>> = {}, signal = PATIENT): Promise<ModelAnswer<Colour>> {
      return service.create(server.url).ask(questionOf(given), signal);
    }

    async function failureOf(answer: Promise<unknown>, errorClass = 'LLM_ERROR'): Promise<AppError> {
      const error: unknown = await answer.then(
        () => 'an answer',
        (caught: unknown) => caught,
      );
      if (!isAppError(error)) throw new Error('expected an AppError', { cause: error });
      expect(classifyError(error)).toBe(errorClass);
      return error;
    }

    function says(text: string | object, ending?: Ending): void {
      server.answer(saying(service.envelope(typeof text === 'string' ? text : JSON.stringify(text), ending)));
    }

    it('gives the parsed answer and the tokens that it took', async () => {
      says(ANSWER);

      expect(await ask()).toEqual({ value: ANSWER, usage: { inputTokens: 7, outputTokens: 3 } });
    });

    it('drops fields that were not asked for', async () => {
      says({ ...ANSWER, verdict: 'approve' });

      expect((await ask()).value).toEqual(ANSWER);
    });

    it('reads an answer in a Markdown fence', async () => {
      says(`\`\`\`json\n${JSON.stringify(ANSWER)}\n\`\`\``);

      expect((await ask()).value).toEqual(ANSWER);
    });

    it('sends instructions and data, and the key where the service looks for it', async () => {
      says(ANSWER);

      await ask({ system: 'Name the colour.', prompt: 'Of the sea?' });

      const { headers, body } = server.received.at(-1) ?? {};
      expect(headers?.[service.keyHeader]).toContain(API_KEY);
      expect(body).toContain('Name the colour.');
      expect(body).toContain('Of the sea?');
    });

    const unusable: Readonly<Record<string, () => void>> = {
      'no JSON at all': () => server.answer(saying('<html>Bad gateway</html>')),
      'JSON of another kind': () => server.answer(saying('{"ok": true}')),
      'an empty body': () => server.answer(saying('')),
      'no content': () => server.answer((response) => response.writeHead(204).end()),
      'half an answer': () => says(JSON.stringify(ANSWER).slice(0, 20)),
      'an answer that was cut off': () => says(JSON.stringify(ANSWER).slice(0, 20), 'length'),
      'a refusal in words': () => says('I’m sorry, but I can’t help with that.'),
      nothing: () => says(''),
      'JSON amid prose': () => says(`Sure! Here it is: ${JSON.stringify(ANSWER)} Anything else?`),
      'two answers': () => says(`${JSON.stringify({ ...ANSWER, points: 1 })}\n${JSON.stringify(ANSWER)}`),
      'an answer that lacks a field': () => says({ colour: 'green' }),
      'a value that is none of the choices': () => says({ ...ANSWER, colour: 'blue' }),
      'a number beyond the choices': () => says({ ...ANSWER, points: 3 }),
      'a number in words': () => says({ ...ANSWER, points: '2' }),
      'more bytes than an answer can have': () => says({ ...ANSWER, more: 'x'.repeat(2_000_000) }),
      'a packed bomb': () => server.answer(bomb),
      'status 500': () => server.answer(saying('{"error": {"message": "oops"}}', 500)),
      'status 529': () => server.answer(saying('{"type": "error"}', 529)),
      'a reset connection': () => server.answer((response) => response.socket?.resetAndDestroy()),
      'a connection that ends amid the answer': () =>
        server.answer((response) => {
          response.writeHead(200, { 'content-length': 1_000 }).write('{"choices": [', () => response.destroy());
        }),
    };

    it.each(Object.keys(unusable))('fails, to be tried again, on %s', async (kind) => {
      unusable[kind]?.();

      const error = await failureOf(ask());

      expect(error.code).toBe('model_unavailable');
      expect(isRetryable(error)).toBe(true);
    });

    it.each([400, 401, 402, 403, 404, 405, 422])('fails for good on a refusal with status %i', async (status) => {
      server.answer(saying('{"error": {"message": "no"}}', status));

      const error = await failureOf(ask());

      expect(error.code).toBe('model_refused');
      expect(isRetryable(error)).toBe(false);
      expect(error.message).toContain(`the painter answered ${status}`);
    });

    it('names the setting to check', async () => {
      server.answer(saying('{"error": {"message": "no"}}', 401));

      expect((await failureOf(ask())).message).toBe(
        'the painter answered 401: it does not accept the key: check PAINTER_API_KEY',
      );
    });

    const ofContent: Readonly<Record<string, [() => void, RegExp]>> = {
      'a refusal by a filter': [() => says('', 'filter'), /^the painter declined to look at this picture$/],
      'half an answer, ended by a filter': [() => says('{"colour": ', 'filter'), /declined/],
      'status 413': [() => server.answer(saying('too large', 413)), /413: the picture is too long for this painter$/],
      'a prompt beyond the context, in the words of OpenAI': [
        () => server.answer(saying('{"error": {"code": "context_length_exceeded", "message": "…"}}', 400)),
        /400.*too long/,
      ],
      'a prompt beyond the context, in the words of Anthropic': [
        () => server.answer(saying('{"error": {"message": "prompt is too long: 208310 tokens > 200000"}}', 400)),
        /400.*too long/,
      ],
      'a policy that the content breaks': [
        () => server.answer(saying('{"error": {"code": "content_policy_violation"}}', 400)),
        /400.*declined/,
      ],
    };

    it.each(Object.keys(ofContent))('blames the content, and not the service, for %s', async (kind) => {
      const [misbehave, message] = ofContent[kind] ?? [];
      misbehave?.();

      const error = await failureOf(ask(), 'BAD_INPUT');

      expect(error.code).toBe('model_declined');
      expect(isRetryable(error)).toBe(false);
      expect(error.message).toMatch(message ?? /nothing/);
    });

    it('passes on when to come back', async () => {
      server.answer(saying('{"error": {"message": "slow down"}}', 429, { 'retry-after': '7' }));

      expect(await failureOf(ask())).toMatchObject({ code: 'model_unavailable', facts: { retryAfterMs: 7_000 } });
    });

    it('asks once, because the pipeline counts the tries', async () => {
      const before = server.received.length;
      server.answer(saying('{}', 503));

      await failureOf(ask());

      expect(server.received.length - before).toBe(1);
    });

    it.each(['silent', 'trickling'] as const)('gives up on a server that is %s when its time is up', async (how) => {
      server.answer(how === 'silent' ? () => undefined : trickling);

      expect((await failureOf(ask({ timeoutMs: 200 }))).message).toBe('the painter did not answer in time');
    });

    it.each(['silent', 'trickling'] as const)('lets go of a server that is %s when the caller stops', async (how) => {
      const stop = new AbortController();
      server.answer((response) => {
        if (how === 'trickling') trickling(response);
        stop.abort();
      });

      const answer = ask({ timeoutMs: NEVER_MS }, stop.signal);

      expect((await failureOf(answer)).message).toBe('stopped before the painter had answered');
    });

    it('sends nothing for a caller who has stopped already', async () => {
      const before = server.received.length;

      const error = await failureOf(ask({}, AbortSignal.abort()));

      expect(error.code).toBe('model_unavailable');
      expect(server.received.length).toBe(before);
    });

    it.each([301, 302, 307, 308])(
      'follows no redirect (%i), so that neither key nor content goes elsewhere',
      async (status) => {
        server.answer(saying('', status, { location: elsewhere.url }));

        expect(await failureOf(ask())).toMatchObject({ code: 'model_refused' });
        expect(elsewhere.received).toEqual([]);
      },
    );

    it('does not speak in the clear to a server that should have TLS', async () => {
      const before = server.received.length;
      const url = server.url.replace('http:', 'https:');

      const error = await failureOf(service.create(url).ask(questionOf(), PATIENT));

      expect(error.code).toBe('model_unavailable');
      expect(server.received.length).toBe(before);
    });

    it('trusts no certificate that no authority has signed', async () => {
      const untrusted = await startUntrustedServer();

      const answer = service.create(untrusted.url).ask(questionOf(), PATIENT);

      const error = await failureOf(answer.finally(() => untrusted.close()));
      expect(error.code).toBe('model_unavailable');
      expect(error.message).toMatch(/cannot be reached \(.*CERT.*\)/);
    });

    it('fails, to be tried again, when there is no server', async () => {
      const gone = await startReceiver();
      await gone.close();

      const error = await failureOf(service.create(gone.url).ask(questionOf(), PATIENT));

      expect(error.code).toBe('model_unavailable');
      expect(error.message).toBe('the painter cannot be reached (ECONNREFUSED)');
    });

    it.each([200, 400, 401, 500])(
      'reveals neither key nor content when the server repeats both (%i)',
      async (status) => {
        const printed = ['log', 'info', 'warn', 'error'].map((name) => vi.spyOn(console, name as 'log'));
        server.answer((response) => {
          const { body = '', headers = {} } = server.received.at(-1) ?? {};
          saying(JSON.stringify({ error: { message: `${JSON.stringify(headers)} ${body}` } }), status)(response);
        });

        const error = await failureOf(ask({ prompt: MARKER }));

        expect(server.received.at(-1)?.body).toContain(MARKER);
        expect(JSON.stringify(server.received.at(-1)?.headers)).toContain(API_KEY);
        expect(inspect(error, { depth: Infinity, showHidden: true })).not.toMatch(new RegExp(`${MARKER}|${API_KEY}`));
        for (const spy of printed) expect(spy).not.toHaveBeenCalled();
        vi.restoreAllMocks();
      },
    );
  });
}
