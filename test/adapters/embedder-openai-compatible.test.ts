import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openOpenAICompatibleEmbedder } from '../../src/adapters/embedder-openai-compatible.js';
import { type AppError, askedWaitMs, isAppError, isRetryable } from '../../src/core/errors.js';
import { dotOf, embedderContract, UNHURRIED } from '../ports/embedder-contract.js';
import { bomb, saying, trickling } from './model-server.js';

interface Asked {
  path: string | undefined;
  key: string | undefined;
  body: { model: string; input: string[]; dimensions?: number };
}

type Answer = (response: ServerResponse, asked: Asked) => void;

const KEY = 'sk-the-key-that-nobody-may-see';

let url: string;
let answer: Answer;
const asked: Asked[] = [];
const server = createServer((request, response) => {
  void bodyOf(request).then((body) => {
    const each: Asked = {
      path: request.url,
      key: request.headers.authorization,
      body: JSON.parse(body) as Asked['body'],
    };
    asked.push(each);
    answer(response, each);
  });
});

beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  answer = answerWith((text) => vectorOf(text));
  asked.length = 0;
});

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** Three numbers that depend on the text. */
function vectorOf(text: string): number[] {
  return [1 + text.length, [...text].reduce((sum, sign) => sum + sign.charCodeAt(0), 0) % 17, 3];
}

function answerWith(embed: (text: string) => unknown, order: (data: object[]) => object[] = (data) => data): Answer {
  return (response, { body }) => {
    const data = body.input.map((text, index) => ({ object: 'embedding', index, embedding: embed(text) }));
    saying(JSON.stringify({ object: 'list', data: order(data) }))(response);
  };
}

function open(more: { dimension?: number; timeoutMs?: number } = {}) {
  return openOpenAICompatibleEmbedder({
    ...{ url, apiKey: KEY, model: 'sample-embedding', dimension: undefined, timeoutMs: 20_000 },
    ...more,
  });
}

async function failureOf(work: Promise<unknown>): Promise<AppError> {
  const failure: unknown = await work.then(
    () => 'an answer',
    (error: unknown) => error,
  );
  if (!isAppError(failure)) throw new Error('expected an AppError', { cause: failure });
  expect(inspect(failure)).not.toContain(KEY);
  return failure;
}

embedderContract('the OpenAI-compatible embedder', () => {
  answer = answerWith((text) => vectorOf(text));
  return open();
});

describe('the OpenAI-compatible embedder', () => {
  it('posts all texts in one request, with the model and the key', async () => {
    await (await open({ dimension: 3 })).embed(['a', 'b'], UNHURRIED);

    expect(asked).toEqual([
      {
        path: '/v1/embeddings',
        key: `Bearer ${KEY}`,
        body: { model: 'sample-embedding', input: ['a', 'b'], encoding_format: 'float', dimensions: 3 },
      },
    ]);
  });

  it('learns the dimension from the model, and is named after the model alone', async () => {
    expect(await open()).toMatchObject({ model: 'sample-embedding', dimension: 3 });
  });

  it('is named after the model and the dimension that was asked for', async () => {
    expect(await open({ dimension: 3 })).toMatchObject({ model: 'sample-embedding:3', dimension: 3 });
  });

  it('takes base64 for the numbers that it stands for', async () => {
    const embedder = await open({ dimension: 3 });
    const [plain] = await embedder.embed(['a text'], UNHURRIED);
    answer = answerWith((text) => Buffer.from(Float32Array.from(vectorOf(text)).buffer).toString('base64'));

    const [packed] = await embedder.embed(['a text'], UNHURRIED);

    expect(dotOf(plain, packed)).toBeCloseTo(1, 6);
  });

  it('goes by the numbers of the vectors, and not by their order', async () => {
    const embedder = await open({ dimension: 3 });
    const sorted = await embedder.embed(['one', 'another text'], UNHURRIED);
    answer = answerWith(
      (text) => vectorOf(text),
      (data) => data.toReversed(),
    );

    expect(await embedder.embed(['one', 'another text'], UNHURRIED)).toEqual(sorted);
  });

  it.each([
    ['fewer vectors than texts', answerWith(vectorOf, (data) => data.slice(1))],
    ['more vectors than texts', answerWith(vectorOf, (data) => [...data, ...data])],
    ['a vector of another dimension', answerWith(() => [1, 2])],
    ['a vector without a length', answerWith(() => [0, 0, 0])],
    ['text that is not JSON', saying('<html>')],
    ['a body that is far too large', bomb],
    ['status 500', saying('{}', 500)],
  ] satisfies [string, Answer][])('fails in a way that is worth another try on %s', async (_, how) => {
    const embedder = await open({ dimension: 3 });
    answer = how;

    const failure = await failureOf(embedder.embed(['a', 'b'], UNHURRIED));

    expect(failure.code).toBe('model_unavailable');
    expect(isRetryable(failure)).toBe(true);
  });

  it('passes on the wait that the service asks for', async () => {
    const embedder = await open({ dimension: 3 });
    answer = saying('{}', 429, { 'retry-after': '7' });

    expect(askedWaitMs(await failureOf(embedder.embed(['a'], UNHURRIED)))).toBe(7_000);
  });

  it('says which settings to check when the service refuses its requests', async () => {
    answer = saying(`{"error": "bad key ${KEY}"}`, 401);
    const key = await failureOf(open());
    answer = saying('{"error": "no dimensions"}', 400);
    const form = await failureOf(open());

    expect(key).toMatchObject({
      code: 'model_refused',
      message: expect.stringContaining('EMBEDDER_API_KEY') as string,
    });
    expect(form.message).toContain('EMBEDDER_MODEL and EMBEDDER_DIMENSION');
  });

  it('follows no redirect, because it could take the key and the texts anywhere', async () => {
    answer = saying('', 307, { location: 'http://127.0.0.1:9/' });

    expect(await failureOf(open())).toMatchObject({ code: 'model_refused' });
  });

  it('gives up on an answer that trickles', async () => {
    const embedder = await open({ dimension: 3, timeoutMs: 200 });
    answer = trickling;

    expect((await failureOf(embedder.embed(['a'], UNHURRIED))).message).toBe('the embedder did not answer in time');
  });
});
