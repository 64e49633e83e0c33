import { AppError, isAppError } from '../../../../core/errors.js';

/** Content that trying again cannot help. The sentence is for its owner and says what to do. */
export function refuse(sentence: string, cause?: unknown): AppError {
  return new AppError('bad_input', sentence, cause === undefined ? {} : { cause });
}

/** What a parser throws at a damaged content says little to its owner. */
export async function orRefuse<T>(sentence: string, read: () => Promise<T> | T): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw isAppError(error) ? error : refuse(sentence, error);
  }
}
