import type { Model } from '../ports/model.js';
import type { AnthropicSettings } from './model-anthropic.js';
import type { ModelWords } from './model-failure.js';
import type { OpenAICompatibleSettings } from './model-openai-compatible.js';

export type ModelSettings =
  ({ provider: 'anthropic' } & AnthropicSettings) | ({ provider: 'openai-compatible' } & OpenAICompatibleSettings);

/** Loads the SDK of the configured service alone, because an SDK costs memory and time at the start of a process. */
export async function loadModel(settings: ModelSettings, words: ModelWords): Promise<Model> {
  switch (settings.provider) {
    case 'anthropic': {
      const { createAnthropicModel } = await import('./model-anthropic.js');
      return createAnthropicModel(settings, words);
    }
    case 'openai-compatible': {
      const { createOpenAICompatibleModel } = await import('./model-openai-compatible.js');
      return createOpenAICompatibleModel(settings, words);
    }
  }
}
