import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AnswerFormat, createOpenAICompatibleJudge } from '../../src/adapters/model-openai-compatible.js';
import { goodSkill } from '../domains/submission/ports/judge-cases.js';
import { PATIENT } from '../domains/submission/ports/judge-contract.js';
import { modelJudgeContract } from './judge-model-contract.js';
import { answerOf, API_KEY, completionOf, saying, UNHURRIED_MS } from './model-server.js';
import { type Receiver, startReceiver } from './receiver.js';

modelJudgeContract({
  name: 'the OpenAI-compatible judge',
  create: (options) =>
    createOpenAICompatibleJudge({ ...options, model: 'gpt-sample', apiKey: API_KEY, answerFormat: 'json_schema' }),
  envelope: completionOf,
  keyHeader: 'authorization',
});

describe('the OpenAI-compatible judge', () => {
  let server: Receiver;
  beforeAll(async () => {
    server = await startReceiver();
    server.answer(saying(completionOf(JSON.stringify(answerOf()))));
  });
  afterAll(() => server.close());

  async function asked(answerFormat: AnswerFormat, apiKey?: string) {
    const settings = { url: server.url, model: 'gpt-sample', timeoutMs: UNHURRIED_MS, apiKey, answerFormat };
    const judge = createOpenAICompatibleJudge(settings);
    const { model, score } = await judge.judge(goodSkill(), [], PATIENT);
    const { body = '', path, headers } = server.received.at(-1) ?? {};
    const { response_format: format } = JSON.parse(body) as { response_format?: { type: string } };
    return { model, score, version: judge.version, format: format?.type, path, headers };
  }

  it.each([
    ['json_schema', 'json_schema'],
    ['json_object', 'json_object'],
    ['none', undefined],
  ] as const)('asks for the form of the answer by %s', async (answerFormat, format) => {
    expect(await asked(answerFormat)).toMatchObject({ format, score: 100, path: '/hook/chat/completions' });
  });

  it('sends a schema without the bounds that some servers refuse', async () => {
    await asked('json_schema');

    expect(server.received.at(-1)?.body).toContain('"intentMatchesScope":{');
    expect(server.received.at(-1)?.body).not.toMatch(/"(?:minimum|maximum|minLength|maxLength|maxItems|pattern)":/);
  });

  it('names the model that was asked, not the one that the server claims to be', async () => {
    expect(await asked('none')).toMatchObject({ model: 'gpt-sample', version: 'openai-compatible:gpt-sample:p1:f3' });
  });

  it('takes a refusal beside an empty answer for one', async () => {
    const message = { role: 'assistant', content: null, refusal: 'I’m sorry, I can’t help with that.' };
    const refusal = JSON.stringify({ id: 'x', model: 'x', choices: [{ index: 0, message, finish_reason: 'stop' }] });
    server.answer(saying(refusal));

    await expect(asked('none')).rejects.toMatchObject({ code: 'judge_declined', errorClass: 'BAD_INPUT' });
    server.answer(saying(completionOf(JSON.stringify(answerOf()))));
  });

  it('sends no key where there is none', async () => {
    expect((await asked('none')).headers).not.toHaveProperty('authorization');
  });
});
