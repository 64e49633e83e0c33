import { extractJsonMiddleware, generateText, Output, wrapLanguageModel } from 'ai';
import type { Model } from '../ports/model.js';
import { runWithinTime } from '../ports/within-time.js';
import { modelFailureOf, type ModelWords, UnfinishedAnswer } from './model-failure.js';

interface SdkModel {
  provider: string;
  model: Parameters<typeof wrapLanguageModel>[0]['model'];
  words: ModelWords;
}

/** The part that all services share: asks through the AI SDK, and turns its errors into ours. */
export function createSdkModel({ provider, model, words }: SdkModel): Model {
  const reader = wrapLanguageModel({ model, middleware: extractJsonMiddleware() });
  // The SDK would print its warnings to the console.
  globalThis.AI_SDK_LOG_WARNINGS = false;
  return {
    provider,
    name: model.modelId,
    ask: ({ system, prompt, schema, answerName, timeoutMs }, outerSignal) =>
      runWithinTime({ signal: outerSignal, timeoutMs }, async (signal) => {
        try {
          const answer = await generateText({
            model: reader,
            system,
            prompt,
            output: Output.object({ schema, name: answerName }),
            // The pipeline counts the tries, and waits between them.
            maxRetries: 0,
            abortSignal: signal,
          });
          // For an empty text the SDK has no output, and its error does not say why the text is empty.
          if (answer.text === '' || answer.finishReason === 'content-filter') {
            throw new UnfinishedAnswer(answer.finishReason);
          }
          const { inputTokens = null, outputTokens = null } = answer.usage;
          return { value: answer.output, usage: { inputTokens, outputTokens } };
        } catch (error) {
          throw modelFailureOf(error, words, { isStopped: outerSignal.aborted, isLate: signal.aborted });
        }
      }),
  };
}
