import { createKeptChild, type KeptChild } from '../../../../adapters/kept-child.js';
import type { ChildFaults } from '../../../../adapters/killable-child.js';
import { AppError } from '../../../../core/errors.js';
import { FILE_CODES } from '../../errors.js';
import type { ExtractionProgress, Extractor } from '../../ports/extractor.js';
import { chunks, extraction, progress } from './answer-schema.js';

export interface ExtractorOptions {
  /** The limit of one file, without the wait for its turn. */
  timeoutMs: number;
  /** Memory of a whole process. */
  maxBytes: number;
}

/** Two, so that a file that takes minutes does not hold up all others. More would take the processors from the worker's own work. */
const CHILDREN = 2;

/** Each process is killed and replaced when a file takes too long or too much memory, or is called off. A process reads one file at a
 *  time; the next waits. */
export function createExtractor({ timeoutMs, maxBytes }: ExtractorOptions): Extractor {
  const script = new URL('./extractor-process', import.meta.url);
  const children = Array.from({ length: CHILDREN }, () =>
    createKeptChild({ script, maxBytes, faults: faultsOf(maxBytes) }),
  );

  function ask(question: object, signal: AbortSignal, tell: (said: ExtractionProgress) => void): Promise<unknown> {
    const onProgress = (said: unknown): void => {
      const heard = progress.safeParse(said);
      if (heard.success) tell(heard.data);
    };
    return idlest(children).ask({ question, timeoutMs, signal, onProgress }, (ahead) => {
      if (ahead > 0) tell({ waitsBehind: ahead });
    });
  }

  return {
    async extract({ path, name }, signal, tell) {
      return extraction.parse(await ask({ do: 'extract', path, name, timeoutMs }, signal, tell));
    },
    async split(parts, signal) {
      return chunks.parse(await ask({ do: 'split', parts }, signal, () => undefined));
    },
    childPid: () => children.map((child) => child.pid()).find((pid) => pid !== undefined),
    close() {
      for (const child of children) child.close();
    },
  };
}

/** The first of those that have the fewest files, so that the others need not be started. */
function idlest(children: readonly KeptChild[]): KeptChild {
  return children.reduce((best, child) => (child.load() < best.load() ? child : best));
}

function faultsOf(maxBytes: number): ChildFaults {
  const megabytes = Math.round(maxBytes / 1_024 ** 2);
  return {
    gone: (how, isTooLarge, cause) =>
      isTooLarge
        ? new AppError(
            'bad_input',
            `Reading the file takes more than ${megabytes} MB of memory. Split it and upload the parts.`,
          )
        : new AppError(FILE_CODES.extraction_failed, `the process that reads files ${how}`, { cause }),
    timeUp: (timeoutMs) =>
      new AppError(
        FILE_CODES.extraction_timeout,
        `Reading the file takes longer than ${Math.round(timeoutMs / 1_000)} seconds. Split it, or save it again, and upload it.`,
      ),
    said: ({ code, message }) =>
      code === 'bad_input'
        ? new AppError('bad_input', message)
        : new AppError(FILE_CODES.extraction_failed, `the file could not be read: ${message}`),
  };
}
