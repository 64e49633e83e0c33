import type { z } from 'zod';

export interface Question<Value> {
  /** The model's instructions: our own words alone. */
  system: string;
  /** The data of this question. It may hold text by strangers. */
  prompt: string;
  /** The form of the answer. Some services refuse a schema with bounds (minimum, maxLength, pattern), so spell
   *  values out. */
  schema: z.ZodType<Value>;
  /** The name of the answer, such as `summary`. Some services want a name beside the schema. */
  answerName: string;
  /** For the whole answer, however slowly it arrives. */
  timeoutMs: number;
}

/** Null: the service does not say. */
export interface TokenUsage {
  inputTokens: number | null;
  outputTokens: number | null;
}

export interface ModelAnswer<Value> {
  value: Value;
  usage: TokenUsage;
}

/** A language model. It is asked once: the pipeline counts the tries, and waits between them. A failure is an
 *  AppError, which holds neither the key nor the prompt, because its message is logged and shown.
 *  - `model_unavailable` (LLM_ERROR): the model is away, too slow, stopped by the signal, or its answer does not fit the
 *    schema. Another try can help. `facts.retryAfterMs` is the time that the service asked for.
 *  - `model_refused` (LLM_ERROR): the service does not take our requests. Only other settings can help.
 *  - `model_declined` (BAD_INPUT): the model does not take this content, because the content is too long or against the
 *    service's rules. Another try does not help, and the failure says nothing about other content. */
export interface Model {
  /** The kind of service: `anthropic`, `openai-compatible`. */
  readonly provider: string;
  /** The name of the model that is asked, whatever name the service answers with. */
  readonly name: string;
  ask<Value>(question: Question<Value>, signal: AbortSignal): Promise<ModelAnswer<Value>>;
}
