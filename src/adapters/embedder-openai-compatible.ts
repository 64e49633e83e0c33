import { APICallError } from 'ai';
import { z } from 'zod';
import { AppError } from '../core/errors.js';
import type { Embedder } from '../ports/embedder.js';
import { runWithinTime } from '../ports/within-time.js';
import { modelFailureOf, type ModelWords } from './model-failure.js';
import { fetchUpTo } from './model-fetch.js';

export interface OpenAICompatibleEmbedderSettings {
  url: string;
  /** Undefined for a server that needs none, such as a server on the operator's own machine. */
  apiKey: string | undefined;
  model: string;
  /** Undefined: the model's own. */
  dimension: number | undefined;
  timeoutMs: number;
}

const WORDS: ModelWords = { role: 'embedder', content: 'text', variables: 'EMBEDDER', form: 'DIMENSION' };

/** 96 vectors of 4,096 numbers, written with 20 characters each, have 8 MB. */
const MAX_ANSWER_BYTES = 16_000_000;

/** Servers give numbers, or the base64 of floats of four bytes, the lowest byte first. */
const Embedding = z.union([
  z.array(z.number()).transform((numbers) => Float32Array.from(numbers)),
  z.base64().transform(floatsOf),
]);

const Answer = z.object({ data: z.array(z.object({ index: z.int().optional(), embedding: Embedding })) });

/** Any server that speaks OpenAI's embeddings: OpenAI, vLLM, Ollama and many more. It asks once to learn the model's dimension where the
 *  settings do not name it. */
export async function openOpenAICompatibleEmbedder(settings: OpenAICompatibleEmbedderSettings): Promise<Embedder> {
  const { model, dimension } = settings;
  // Shortened vectors cannot be compared with the model's own.
  if (dimension !== undefined) return embedderOf(settings, `${model}:${dimension}`, dimension);
  const [sample] = await askFor(settings, ['dimension'], new AbortController().signal);
  return embedderOf(settings, model, sample!.length);
}

function embedderOf(settings: OpenAICompatibleEmbedderSettings, model: string, dimension: number): Embedder {
  return {
    model,
    dimension,
    async embed(texts, signal) {
      if (texts.length === 0) return [];
      const vectors = await askFor(settings, texts, signal);
      const odd = vectors.find((vector) => vector.length !== dimension);
      if (odd === undefined) return vectors.map(normalize);
      throw badAnswer(`a vector of ${odd.length} numbers in place of ${dimension}`);
    },
    async close() {},
  };
}

/** The vectors in the order of the texts. */
function askFor(
  settings: OpenAICompatibleEmbedderSettings,
  texts: readonly string[],
  outerSignal: AbortSignal,
): Promise<Float32Array[]> {
  const { timeoutMs } = settings;
  return runWithinTime({ signal: outerSignal, timeoutMs }, async (signal) => {
    try {
      const { data } = Answer.parse(await post(settings, texts, signal));
      const byPlace = new Map(data.map(({ index, embedding }, at) => [index ?? at, embedding]));
      const vectors = texts.map((_, at) => byPlace.get(at));
      if (data.length !== texts.length || !vectors.every((each) => each !== undefined)) {
        throw badAnswer(`${data.length} vectors for ${texts.length} texts`);
      }
      return vectors;
    } catch (error) {
      if (error instanceof AppError) throw error;
      throw modelFailureOf(error, WORDS, { isStopped: outerSignal.aborted, isLate: signal.aborted });
    }
  });
}

async function post(
  { url, apiKey, model, dimension }: OpenAICompatibleEmbedderSettings,
  input: readonly string[],
  signal: AbortSignal,
): Promise<unknown> {
  const address = `${url.replace(/\/+$/, '')}/embeddings`;
  const asked = { model, input, encoding_format: 'float', ...(dimension !== undefined && { dimensions: dimension }) };
  const response = await fetchUpTo(MAX_ANSWER_BYTES, address, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
    },
    body: JSON.stringify(asked),
    signal,
  });
  const body = await response.text();
  if (response.ok) return JSON.parse(body) as unknown;
  throw new APICallError({
    message: `status ${response.status}`,
    url: '',
    requestBodyValues: {},
    statusCode: response.status,
    responseHeaders: Object.fromEntries(response.headers),
    responseBody: body,
  });
}

function floatsOf(base64: string): Float32Array {
  const bytes = Buffer.from(base64, 'base64');
  const floats = new Float32Array(Math.floor(bytes.length / 4));
  for (let at = 0; at < floats.length; at += 1) floats[at] = bytes.readFloatLE(at * 4);
  return floats;
}

function normalize(vector: Float32Array): Float32Array {
  const length = Math.hypot(...vector);
  if (!(length > 0 && Number.isFinite(length))) throw badAnswer('a vector without a length');
  return vector.map((value) => value / length);
}

function badAnswer(what: string): AppError {
  return new AppError('model_unavailable', `the embedder answered with ${what}`);
}
