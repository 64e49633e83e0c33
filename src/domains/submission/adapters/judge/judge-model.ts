import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { AppError, type DeclaredCode, isAppError } from '../../../../core/errors.js';
import { SUBMISSION_CODES } from '../../errors.js';
import type { Model } from '../../../../ports/model.js';
import { BEST_MARK, type Criterion, CRITERIA, type Thresholds } from '../../core/judgement/judgement.js';
import type { Judge } from '../../ports/judge.js';
import { type Case, createJudge, type Opinion } from './judge-frame.js';
import { dataPrompt, PROMPT_VERSION, SYSTEM_PROMPT } from './judge-prompt.js';

/** No owner reads more concerns. */
const MAX_CONCERNS = 20;

/** 128 bits, which nobody guesses. */
const NONCE_BYTES = 16;

/** Marks are spelled out, because some services refuse a schema with bounds. */
const mark = z.literal(Array.from({ length: BEST_MARK + 1 }, (_, at) => at));

/** The answer that a model must give. A score or a verdict that it adds is not read. */
const answerSchema = z.object({
  concerns: z.array(
    z.object({
      criterion: z.enum(CRITERIA),
      text: z.string(),
      quote: z.object({ file: z.string(), text: z.string() }).nullable(),
    }),
  ),
  marks: z.object(Object.fromEntries(CRITERIA.map((name) => [name, mark])) as Record<Criterion, typeof mark>),
});

/** The stages and the breaker know a failed judgement by the judge's own codes. */
const JUDGE_CODES: Readonly<Record<string, DeclaredCode>> = {
  model_unavailable: SUBMISSION_CODES.judge_unavailable,
  model_refused: SUBMISSION_CODES.judge_refused,
  model_declined: SUBMISSION_CODES.judge_declined,
};

interface ModelJudgeOptions {
  /** For one whole answer. */
  timeoutMs: number;
  thresholds: Thresholds;
}

/** A judge that asks a language model for its marks and concerns. */
export function createModelJudge(model: Model, { timeoutMs, thresholds }: ModelJudgeOptions): Judge {
  async function assess(given: Case, signal: AbortSignal): Promise<Opinion> {
    const question = {
      system: SYSTEM_PROMPT,
      prompt: dataPrompt(given, randomBytes(NONCE_BYTES).toString('hex')),
      schema: answerSchema,
      answerName: 'judgement',
      timeoutMs,
    };
    const { value } = await model.ask(question, signal).catch((error: unknown) => {
      throw judgeFailureOf(error);
    });
    return { marks: value.marks, concerns: value.concerns.slice(0, MAX_CONCERNS) };
  }

  const version = `${model.provider}:${model.name}:${PROMPT_VERSION}`;
  return createJudge({ version, model: model.name, assess }, thresholds);
}

function judgeFailureOf(error: unknown): unknown {
  const code = isAppError(error) ? JUDGE_CODES[error.code] : undefined;
  if (!isAppError(error) || code === undefined) return error;
  return new AppError(code, error.message, { cause: error, ...(error.facts && { facts: error.facts }) });
}
