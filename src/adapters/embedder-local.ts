import type { Worker } from 'node:worker_threads';
import { AppError, messageOf } from '../core/errors.js';
import type { Embedder } from '../ports/embedder.js';
import type { ThreadAnswer, ThreadRequest } from './embedder-local-thread.js';
import { startThread } from './start-thread.js';

/** The model takes some 250 MB, which a process that embeds nothing for minutes has better uses for. It loads again in two seconds. */
const IDLE_MS = 5 * 60_000;

/** An aborted request is dropped between two groups. Eight long texts take about a second. */
const GROUP = 8;

const DIMENSION = 512;

/** Vectors are kept under this name. Another cut of long texts, or other pieces of text, would need another name. */
const MODEL = 'use-lite-en-1';

interface Request {
  texts: readonly string[];
  signal: AbortSignal;
  vectors: Float32Array[];
  settle(outcome: { error: AppError } | { vectors: Float32Array[] }): void;
}

/** The small English model that comes with the program. It runs in one thread of its own, which answers one request after the other and
 *  ends when it is not needed. It needs no network. The end of a text behind some 700 pieces of words is left out. */
export function createLocalEmbedder({ idleMs = IDLE_MS } = {}): Embedder {
  const queue: Request[] = [];
  let thread: Worker | undefined;
  let isBusy = false;
  let idle: NodeJS.Timeout | undefined;

  /** The first request of the queue is at work. */
  function work(): void {
    const [request] = queue;
    if (isBusy) return;
    if (!request) return rest();
    isBusy = true;
    clearTimeout(idle);
    const { texts, vectors } = request;
    thread ??= openThread();
    thread.ref();
    thread.postMessage({ texts: texts.slice(vectors.length, vectors.length + GROUP) } satisfies ThreadRequest);
    thread.once('message', (answer: ThreadAnswer) => {
      isBusy = false;
      take(request, answer);
      work();
    });
  }

  function take(request: Request, answer: ThreadAnswer): void {
    if ('fault' in answer) return request.settle({ error: failureOf(answer.fault) });
    request.vectors.push(...answer.vectors);
    if (request.vectors.length >= request.texts.length) request.settle({ vectors: request.vectors });
  }

  function rest(): void {
    thread?.unref();
    clearTimeout(idle);
    idle = setTimeout(() => void endThread(), idleMs).unref();
  }

  function openThread(): Worker {
    const opened = startThread('embedder-local-thread', import.meta.url);
    // A thread that fell, such as for lack of memory, is replaced. The request that it worked on may try again.
    function onFall(why: unknown): void {
      if (thread !== opened) return;
      thread = undefined;
      isBusy = false;
      queue[0]?.settle({ error: failureOf(messageOf(why)) });
      work();
    }
    return opened.once('error', onFall).once('exit', (code) => {
      onFall(`its thread ended with code ${code}`);
    });
  }

  async function endThread(): Promise<void> {
    const ended = thread;
    thread = undefined;
    isBusy = false;
    await ended?.terminate();
  }

  return {
    model: MODEL,
    dimension: DIMENSION,
    embed(texts, signal) {
      if (texts.length === 0) return Promise.resolve([]);
      return new Promise((resolve, reject) => {
        const request: Request = { texts, signal, vectors: [], settle };
        function settle(outcome: Parameters<Request['settle']>[0]): void {
          signal.removeEventListener('abort', drop);
          const at = queue.indexOf(request);
          if (at >= 0) queue.splice(at, 1);
          if ('vectors' in outcome) resolve(outcome.vectors);
          else reject(outcome.error);
        }
        function drop(): void {
          settle({ error: failureOf('it was stopped before it had answered') });
        }
        if (signal.aborted) return drop();
        signal.addEventListener('abort', drop);
        queue.push(request);
        work();
      });
    },
    async close() {
      clearTimeout(idle);
      const left = queue.splice(0);
      for (const request of left) request.settle({ error: failureOf('it was closed') });
      await endThread();
    },
  };
}

function failureOf(why: string): AppError {
  return new AppError('model_unavailable', `the local embedder gives no answer: ${why}`);
}
