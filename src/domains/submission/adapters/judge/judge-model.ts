import { randomBytes } from 'node:crypto';
import { extractJsonMiddleware, generateText, Output, wrapLanguageModel } from 'ai';
import type { Judge } from '../../ports/judge.js';
import { answerSchema } from '../../../../adapters/judge-answer.js';
import { judgeFailure, UnfinishedAnswer } from '../../../../adapters/judge-failure.js';
import { type Case, createJudge, type Opinion } from './judge-frame.js';
import { dataPrompt, PROMPT_VERSION, SYSTEM_PROMPT } from './judge-prompt.js';

export interface ModelSettings {
  url: string;
  model: string;
  /** For one whole answer, however it comes. */
  timeoutMs: number;
}

interface ModelJudge {
  provider: string;
  model: Parameters<typeof wrapLanguageModel>[0]['model'];
  timeoutMs: number;
}

/** More concerns than this no owner reads. */
const MAX_CONCERNS = 20;

/** 128 bits: nobody guesses that. */
const NONCE_BYTES = 16;

/** A judge that asks a language model, whoever serves it. */
export function createModelJudge({ provider, model, timeoutMs }: ModelJudge): Judge {
  const reader = wrapLanguageModel({ model, middleware: extractJsonMiddleware() });
  // The SDK would print its remarks to the console.
  globalThis.AI_SDK_LOG_WARNINGS = false;

  async function assess(given: Case, signal: AbortSignal): Promise<Opinion> {
    // Of our own: what `AbortSignal.any` makes of one by `AbortSignal.timeout` may be collected while it is waited for.
    const over = new AbortController();
    let isTimeUp = false;
    const stop = () => {
      over.abort();
    };
    const timer = setTimeout(() => {
      isTimeUp = true;
      stop();
    }, timeoutMs);
    signal.addEventListener('abort', stop);
    if (signal.aborted) stop();
    try {
      const answer = await generateText({
        model: reader,
        system: SYSTEM_PROMPT,
        prompt: dataPrompt(given, randomBytes(NONCE_BYTES).toString('hex')),
        output: Output.object({ schema: answerSchema, name: 'judgement' }),
        // The pipeline counts the tries, and waits between them.
        maxRetries: 0,
        abortSignal: over.signal,
      });
      // Where nothing was said the SDK has no output, and no longer says why.
      if (answer.text === '' || answer.finishReason === 'content-filter')
        throw new UnfinishedAnswer(answer.finishReason);
      const { marks, concerns } = answer.output;
      return { marks, concerns: concerns.slice(0, MAX_CONCERNS) };
    } catch (error) {
      throw judgeFailure(error, isTimeUp, signal.aborted);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
    }
  }

  return createJudge({ version: `${provider}:${model.modelId}:${PROMPT_VERSION}`, model: model.modelId, assess });
}
