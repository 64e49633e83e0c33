import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { type LanguageModelMiddleware, wrapLanguageModel } from 'ai';
import { z } from 'zod';
import type { Judge } from '../domains/submission/ports/judge.js';
import { judgeFetch } from './model-fetch.js';
import { createModelJudge, type ModelSettings } from '../domains/submission/adapters/judge/judge-model.js';

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
  const reader = wrapLanguageModel({ model: provider(model), middleware: refusals });
  return createModelJudge({ provider: 'openai-compatible', model: reader, timeoutMs });
}

/** A refusal comes beside an empty answer, in a field that the SDK does not read. */
const refused = z.object({ choices: z.tuple([z.object({ message: z.object({ refusal: z.string().min(1) }) })]) });

const refusals: LanguageModelMiddleware = {
  specificationVersion: 'v3',
  async wrapGenerate({ doGenerate }) {
    const result = await doGenerate();
    if (!refused.safeParse(result.response?.body).success) return result;
    return { ...result, finishReason: { unified: 'content-filter', raw: 'refusal' } };
  },
};

function formOf(answerFormat: AnswerFormat, schema: unknown): { response_format?: unknown } {
  if (answerFormat === 'none') return {};
  return { response_format: answerFormat === 'json_schema' ? schema : { type: 'json_object' } };
}
