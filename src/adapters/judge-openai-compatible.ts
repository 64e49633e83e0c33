import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { Judge } from '../ports/judge.js';
import { judgeFetch } from './judge-fetch.js';
import { createModelJudge, type ModelSettings } from './judge-model.js';

/** How the form of the answer is asked for: not every server knows every way, and the prompt asks as well. */
export type AnswerFormat = 'json_schema' | 'json_object' | 'none';

interface OpenAICompatibleSettings extends ModelSettings {
  /** Servers of one's own often need none. */
  apiKey: string | undefined;
  answerFormat: AnswerFormat;
}

/** Any server that speaks OpenAI's chat completions: OpenAI, vLLM, Ollama, LM Studio and many more. */
export function createOpenAICompatibleJudge(settings: OpenAICompatibleSettings): Judge {
  const { url, apiKey, model, timeoutMs, answerFormat } = settings;
  const provider = createOpenAICompatible({
    name: 'judge',
    baseURL: url,
    ...(apiKey !== undefined && { apiKey }),
    fetch: judgeFetch,
    supportsStructuredOutputs: true,
    transformRequestBody: ({ response_format: schema, ...body }) => ({ ...body, ...formOf(answerFormat, schema) }),
  });
  return createModelJudge({ provider: 'openai-compatible', model: provider(model), timeoutMs });
}

function formOf(answerFormat: AnswerFormat, schema: unknown): { response_format?: unknown } {
  if (answerFormat === 'none') return {};
  return { response_format: answerFormat === 'json_schema' ? schema : { type: 'json_object' } };
}
