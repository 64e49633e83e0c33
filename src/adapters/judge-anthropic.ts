import { createAnthropic } from '@ai-sdk/anthropic';
import type { Judge } from '../ports/judge.js';
import { judgeFetch } from './judge-fetch.js';
import { createModelJudge, type ModelSettings } from './judge-model.js';

export function createAnthropicJudge({ url, apiKey, model, timeoutMs }: ModelSettings & { apiKey: string }): Judge {
  const provider = createAnthropic({ baseURL: url, apiKey, fetch: judgeFetch });
  return createModelJudge({ provider: 'anthropic', model: provider(model), timeoutMs });
}
