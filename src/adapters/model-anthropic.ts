import { createAnthropic } from '@ai-sdk/anthropic';
import type { Model } from '../ports/model.js';
import { createSdkModel } from './model-sdk.js';
import type { ModelWords } from './model-failure.js';
import { fetchFromModel } from './model-fetch.js';

export interface AnthropicSettings {
  url: string;
  apiKey: string;
  model: string;
}

export function createAnthropicModel({ url, apiKey, model }: AnthropicSettings, words: ModelWords): Model {
  const service = createAnthropic({ baseURL: url, apiKey, fetch: fetchFromModel });
  return createSdkModel({ provider: 'anthropic', model: service(model), words });
}
