import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createAnthropicModel } from '../../src/adapters/model-anthropic.js';
import { ANSWER, API_KEY, modelContract, PATIENT, questionOf, WORDS } from '../ports/model-contract.js';
import { saying } from './model-server.js';
import { type Receiver, startReceiver } from './receiver.js';

const STOP = { stop: 'end_turn', filter: 'refusal', length: 'max_tokens' } as const;

function messageOf(content: readonly object[], stop: string): string {
  const usage = { input_tokens: 7, output_tokens: 3 };
  return JSON.stringify({
    type: 'message',
    id: 'x',
    role: 'assistant',
    model: 'rules-v1',
    content,
    stop_reason: stop,
    usage,
  });
}

modelContract({
  name: 'the Anthropic model',
  create: (url) => createAnthropicModel({ url, model: 'claude-sonnet-4-5', apiKey: API_KEY }, WORDS),
  envelope: (text, ending = 'stop') => messageOf([{ type: 'text', text }], STOP[ending]),
  keyHeader: 'x-api-key',
});

describe('the Anthropic model', () => {
  let server: Receiver;
  beforeAll(async () => {
    server = await startReceiver();
    server.answer(saying(messageOf([{ type: 'tool_use', id: 't', name: 'json', input: ANSWER }], 'tool_use')));
  });
  afterAll(() => server.close());

  it('takes the answer of an older model, which gives it as the input of a tool', async () => {
    const name = 'claude-3-haiku-20240307';
    const model = createAnthropicModel({ url: server.url, model: name, apiKey: API_KEY }, WORDS);

    const { value } = await model.ask(questionOf(), PATIENT);

    expect(value).toEqual(ANSWER);
    expect(server.received.at(-1)?.path).toBe('/hook/messages');
    expect(model).toMatchObject({ provider: 'anthropic', name });
  });

  it('prints none of the warnings that the SDK has about a model it does not know', async () => {
    const printed = (['info', 'warn'] as const).map((name) => vi.spyOn(console, name));
    const model = createAnthropicModel({ url: server.url, model: 'unheard-of', apiKey: API_KEY }, WORDS);

    await model.ask(questionOf(), PATIENT);

    for (const spy of printed) expect(spy).not.toHaveBeenCalled();
    vi.restoreAllMocks();
  });
});
