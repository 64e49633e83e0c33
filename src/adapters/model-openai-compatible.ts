import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { type LanguageModelMiddleware, wrapLanguageModel } from 'ai';
import { z } from 'zod';
import type { Model } from '../ports/model.js';
import { createSdkModel } from './model-sdk.js';
import type { ModelWords } from './model-failure.js';
import { fetchFromModel } from './model-fetch.js';

/** How a request asks for the form of the answer. Not every server knows every way, so a prompt should describe the
 *  form as well. */
export type AnswerFormat = 'json_schema' | 'json_object' | 'none';

export interface OpenAICompatibleSettings {
  url: string;
  /** Undefined for a server that needs none, such as a server on the operator's own machine. */
  apiKey: string | undefined;
  model: string;
  answerFormat: AnswerFormat;
}

/** Any server that speaks OpenAI's chat completions: OpenAI, vLLM, Ollama, LM Studio and many more. */
export function createOpenAICompatibleModel(settings: OpenAICompatibleSettings, words: ModelWords): Model {
  const { url, apiKey, model, answerFormat } = settings;
  const service = createOpenAICompatible({
    name: 'model',
    baseURL: url,
    ...(apiKey !== undefined && { apiKey }),
    fetch: fetchFromModel,
    supportsStructuredOutputs: true,
    transformRequestBody: ({ response_format: schema, ...body }) => ({ ...body, ...formOf(answerFormat, schema) }),
  });
  const reader = wrapLanguageModel({ model: service(model), middleware: refusalReader });
  return createSdkModel({ provider: 'openai-compatible', model: reader, words });
}

const Refusal = z.object({ choices: z.tuple([z.object({ message: z.object({ refusal: z.string().min(1) }) })]) });

/** The server puts a refusal beside an empty answer, in a field that the SDK does not read. */
const refusalReader: LanguageModelMiddleware = {
  specificationVersion: 'v3',
  async wrapGenerate({ doGenerate }) {
    const result = await doGenerate();
    if (!Refusal.safeParse(result.response?.body).success) return result;
    return { ...result, finishReason: { unified: 'content-filter', raw: 'refusal' } };
  },
};

function formOf(answerFormat: AnswerFormat, schema: unknown): { response_format?: unknown } {
  if (answerFormat === 'none') return {};
  return { response_format: answerFormat === 'json_schema' ? schema : { type: 'json_object' } };
}
