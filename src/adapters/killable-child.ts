import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { Socket } from 'node:net';
import { extname } from 'node:path';
import { z } from 'zod';
import { isTimeUp, runWithinTime } from '../ports/within-time.js';
import { TOO_LARGE } from './watch-process.js';

/** Loading the code and a first run of it take a few seconds. Only a badly overloaded machine takes this long. */
const START_MS = 60_000;

/** Enough for the words of a process that ran out of memory, which Node ends with a list of its frames. */
const MAX_LAST_WORDS = 4_000;

/** Node starts and loads the code with less. */
const LEAST_HEAP_MB = 256;

/** A heap that reaches its own limit before the watch has looked. */
const HEAP_FULL = 'heap out of memory';

/** What `serveParent` sends. The process may have been taken over by hostile contents, so every message is checked. */
const heard = z.discriminatedUnion('is', [
  z.object({ is: z.literal('ready') }),
  z.object({ is: z.literal('progress'), value: z.unknown() }),
  z.object({ is: z.literal('answer'), value: z.unknown(), isWornOut: z.boolean() }),
  z.object({ is: z.literal('fault'), code: z.string().optional(), message: z.string() }),
]);

/** Words the failures, because each caller has codes of its own. */
export interface ChildFaults {
  /** The process ended. `isTooLarge`: it took too much memory, and it did so while it worked on a question. */
  gone(how: string, isTooLarge: boolean, cause?: unknown): Error;
  timeUp(timeoutMs: number): Error;
  /** The process says that it cannot answer. */
  said(fault: { code?: string | undefined; message: string }): Error;
}

export interface ChildOptions {
  /** Without its extension: the compiled script beside compiled code, the TypeScript beside TypeScript. */
  script: URL;
  maxBytes: number;
  faults: ChildFaults;
}

export interface Question {
  question: unknown;
  timeoutMs: number;
  signal: AbortSignal;
  onProgress?: ((value: unknown) => void) | undefined;
}

export interface KillableChild {
  pid: number;
  isAlive(): boolean;
  /** One question at a time. A question that ends early ends the process too, because native code can't be interrupted
   *  otherwise. The answer is as untrusted as the content. */
  ask(question: Question): Promise<unknown>;
  kill(): void;
}

/** Starts the process and waits until it is warm. The process has no environment, because it reads hostile contents. */
export async function startKillableChild({ script, maxBytes, faults }: ChildOptions): Promise<KillableChild> {
  const child = forkBare(script, maxBytes);
  let lastWords = '';
  let isAsked = false;
  child.stderr
    ?.setEncoding('utf8')
    .on('data', (words: string) => (lastWords = (lastWords + words).slice(-MAX_LAST_WORDS)));
  // The process's last words may arrive after its exit, so this waits for the end of its output.
  const ended = once(child, 'close').then(
    ([code, signal]) => {
      const isTooLarge = isAsked && (lastWords.includes(TOO_LARGE) || lastWords.includes(HEAP_FULL));
      return faults.gone(howItEnded(code, signal, lastWords), isTooLarge);
    },
    (cause: unknown) => faults.gone('could not be started', false, cause),
  );
  /** Those who wait for an answer. A race of each answer against `ended` would keep all answers in memory for as long as the process lives. */
  const waiting = new Set<(fault: Error) => void>();
  let gone: Error | undefined;
  void ended.then((fault) => {
    gone = fault;
    for (const fail of waiting) fail(fault);
  });

  async function answerOrEnd<T>(answer: Promise<T>): Promise<T> {
    let leave: () => void = () => undefined;
    const end = new Promise<never>((_, fail) => {
      if (gone) return fail(gone);
      waiting.add(fail);
      leave = () => waiting.delete(fail);
    });
    try {
      return await Promise.race([answer, end]);
    } finally {
      leave();
    }
  }

  /** The next answer. Fails with the reason why there is none, once the process is gone for certain. */
  function nextAnswer({ timeoutMs, signal: outer, onProgress }: Limits) {
    return runWithinTime({ signal: outer, timeoutMs }, async (signal) => {
      try {
        return await answerOrEnd(nextEnd(child, signal, onProgress));
      } catch (error) {
        child.kill('SIGKILL');
        await ended;
        if (isTimeUp(signal)) throw faults.timeUp(timeoutMs);
        throw signal.aborted ? signal.reason : error;
      }
    });
  }

  await nextAnswer({ timeoutMs: START_MS });
  // An idle process must not keep its parent alive.
  child.unref();
  child.channel?.unref();
  if (child.stderr instanceof Socket) child.stderr.unref();
  return {
    pid: child.pid ?? 0,
    isAlive: () => child.exitCode === null && child.signalCode === null && !child.killed && child.connected,
    async ask({ question, ...limits }) {
      limits.signal.throwIfAborted();
      // Sending to a process that is gone fails. Its exit tells us, so the error here is ignored.
      child.send({ question }, () => undefined);
      isAsked = true;
      const said = await nextAnswer(limits).finally(() => (isAsked = false));
      if (said.is === 'fault') throw faults.said(said);
      if (said.is !== 'answer') throw faults.said({ message: 'it answered out of turn' });
      if (said.isWornOut) child.kill('SIGKILL');
      return said.value;
    },
    kill: () => void child.kill('SIGKILL'),
  };
}

type Limits = Omit<Question, 'question' | 'signal'> & Partial<Pick<Question, 'signal'>>;

function forkBare(script: URL, maxBytes: number): ChildProcess {
  const extension = extname(import.meta.filename);
  // Node's own limit on the heap depends on the machine. The heap may take all that the process may, and enough to tell of it.
  const heap = `--max-old-space-size=${Math.max(LEAST_HEAP_MB, Math.ceil(maxBytes / 1_024 ** 2))}`;
  return fork(new URL(`${script.href}${extension}`), [String(maxBytes)], {
    env: {},
    execArgv: extension === '.ts' ? [heap, '--import', 'tsx'] : [heap],
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
}

/** The next message that is no progress. */
function nextEnd(child: ChildProcess, signal: AbortSignal, onProgress?: (value: unknown) => void) {
  return new Promise<z.infer<typeof heard>>((resolve, reject) => {
    function stop(): void {
      child.off('message', hear);
      signal.removeEventListener('abort', leave);
    }
    function leave(): void {
      stop();
      reject(signal.reason as Error);
    }
    function hear(said: unknown): void {
      const message = heard.safeParse(said);
      if (message.data?.is === 'progress') return onProgress?.(message.data.value);
      stop();
      if (message.success) resolve(message.data);
      else reject(message.error);
    }
    child.on('message', hear);
    signal.addEventListener('abort', leave, { once: true });
    if (signal.aborted) leave();
  });
}

function howItEnded(code: unknown, signal: unknown, lastWords: string): string {
  const how = typeof signal === 'string' ? `by ${signal}` : `with code ${String(code)}`;
  return `ended ${how}${lastWords ? `: ${lastWords.trim()}` : ''}`;
}
