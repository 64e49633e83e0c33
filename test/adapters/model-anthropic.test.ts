import { describe, expect, it, vi } from 'vitest';
import { createAnthropicJudge } from '../../src/adapters/judge-anthropic.js';
import { goodSkill } from '../domains/submission/ports/judge-cases.js';
import { PATIENT } from '../domains/submission/ports/judge-contract.js';
import { modelJudgeContract } from './judge-model-contract.js';
import { answerOf, API_KEY, saying, UNHURRIED_MS } from './model-server.js';
import { startReceiver } from './receiver.js';

const STOP = { stop: 'end_turn', filter: 'refusal', length: 'max_tokens' } as const;

function messageOf(content: readonly object[], stop: string): string {
  const usage = { input_tokens: 1, output_tokens: 1 };
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

modelJudgeContract({
  name: 'the Anthropic judge',
  create: (options) => createAnthropicJudge({ ...options, model: 'claude-sonnet-4-5', apiKey: API_KEY }),
  envelope: (text, ending = 'stop') => messageOf([{ type: 'text', text }], STOP[ending]),
  keyHeader: 'x-api-key',
});

describe('the Anthropic judge', () => {
  it('takes the answer of an older model, which gives it as the input of a tool', async () => {
    const server = await startReceiver();
    server.answer(saying(messageOf([{ type: 'tool_use', id: 't', name: 'json', input: answerOf() }], 'tool_use')));
    const settings = { url: server.url, model: 'claude-3-haiku-20240307', apiKey: API_KEY, timeoutMs: UNHURRIED_MS };
    const judge = createAnthropicJudge(settings);

    const { score, model } = await judge.judge(goodSkill(), [], PATIENT).finally(() => server.close());

    expect({ score, model }).toEqual({ score: 100, model: settings.model });
    expect(server.received.at(-1)?.path).toBe('/hook/messages');
    expect(judge.version).toBe(`anthropic:${settings.model}:p1:f3`);
  });

  it('prints none of the remarks that the SDK makes about a model it does not know', async () => {
    const printed = (['info', 'warn'] as const).map((name) => vi.spyOn(console, name));
    const server = await startReceiver();
    server.answer(saying(messageOf([{ type: 'tool_use', id: 't', name: 'json', input: answerOf() }], 'tool_use')));
    const judge = createAnthropicJudge({
      url: server.url,
      model: 'unheard-of',
      apiKey: API_KEY,
      timeoutMs: UNHURRIED_MS,
    });

    await judge.judge(goodSkill(), [], PATIENT).finally(() => server.close());

    for (const spy of printed) expect(spy).not.toHaveBeenCalled();
    vi.restoreAllMocks();
  });
});
