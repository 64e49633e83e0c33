import { afterAll, beforeEach, beforeAll, describe, expect, it } from 'vitest';
import { type AnswerFormat, createOpenAICompatibleModel } from '../../src/adapters/model-openai-compatible.js';
import { ANSWER, API_KEY, modelContract, PATIENT, questionOf, WORDS } from '../ports/model-contract.js';
import { completionOf, saying } from './model-server.js';
import { type Receiver, startReceiver } from './receiver.js';

const USAGE = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };

modelContract({
  name: 'the OpenAI-compatible model',
  create: (url) =>
    createOpenAICompatibleModel({ url, model: 'gpt-sample', apiKey: API_KEY, answerFormat: 'json_schema' }, WORDS),
  envelope: (text, ending) => completionOf(text, ending, USAGE),
  keyHeader: 'authorization',
});

describe('the OpenAI-compatible model', () => {
  let server: Receiver;
  beforeAll(async () => {
    server = await startReceiver();
  });
  beforeEach(() => {
    server.answer(saying(completionOf(JSON.stringify(ANSWER))));
  });
  afterAll(() => server.close());

  async function ask(answerFormat: AnswerFormat, apiKey?: string) {
    const settings = { url: server.url, model: 'gpt-sample', apiKey, answerFormat };
    const model = createOpenAICompatibleModel(settings, WORDS);
    const { value, usage } = await model.ask(questionOf(), PATIENT);
    const { body = '', path, headers } = server.received.at(-1) ?? {};
    const { response_format: format } = JSON.parse(body) as { response_format?: { type: string } };
    return { model, value, usage, format: format?.type, path, headers };
  }

  it.each([
    ['json_schema', 'json_schema'],
    ['json_object', 'json_object'],
    ['none', undefined],
  ] as const)('asks for the form of the answer by %s', async (answerFormat, format) => {
    expect(await ask(answerFormat)).toMatchObject({ format, value: ANSWER, path: '/hook/chat/completions' });
  });

  it('sends the schema under the name of the answer', async () => {
    await ask('json_schema');

    const { response_format: format } = JSON.parse(server.received.at(-1)?.body ?? '') as {
      response_format: { json_schema: { name: string; schema: { properties: object } } };
    };
    expect(format.json_schema.name).toBe('colour');
    expect(Object.keys(format.json_schema.schema.properties)).toEqual(['colour', 'points']);
  });

  it('is named after the model that was asked, and not after the model that the server claims to be', async () => {
    expect((await ask('none')).model).toMatchObject({ provider: 'openai-compatible', name: 'gpt-sample' });
  });

  it('takes a refusal beside an empty answer for a refusal', async () => {
    const message = { role: 'assistant', content: null, refusal: 'I’m sorry, I can’t help with that.' };
    const refusal = JSON.stringify({ id: 'x', model: 'x', choices: [{ index: 0, message, finish_reason: 'stop' }] });
    server.answer(saying(refusal));

    await expect(ask('none')).rejects.toMatchObject({ code: 'model_declined', errorClass: 'BAD_INPUT' });
  });

  it('does not take unknown usage for zero', async () => {
    expect((await ask('none')).usage).toEqual({ inputTokens: null, outputTokens: null });
  });

  it('sends no key when it has none', async () => {
    expect((await ask('none')).headers).not.toHaveProperty('authorization');
  });
});
