import { createAnthropic } from '@ai-sdk/anthropic';
import type { Judge } from '../domains/submission/ports/judge.js';
import { judgeFetch } from './model-fetch.js';
import { createModelJudge, type ModelSettings } from '../domains/submission/adapters/judge/judge-model.js';

export function createAnthropicJudge({ url, apiKey, model, timeoutMs }: ModelSettings & { apiKey: string }): Judge {
  const provider = createAnthropic({ baseURL: url, apiKey, fetch: judgeFetch });
  return createModelJudge({ provider: 'anthropic', model: provider(model), timeoutMs });
}
