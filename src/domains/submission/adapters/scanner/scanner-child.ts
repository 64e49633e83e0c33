import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Socket } from 'node:net';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { AppError } from '../../../../core/errors.js';
import { type Finding, SEVERITIES } from '../../ports/skill-scanner.js';
import type { SkillFile } from '../../ports/skill.js';
import { TOO_LARGE } from './watch-process.js';

/** Compiling the rules takes under a second; only a machine on its knees takes this long. */
const START_MS = 60_000;

const finding = z.object({
  ...{ id: z.string(), name: z.string(), severity: z.enum(SEVERITIES), category: z.string(), file: z.string() },
  ...{ line: z.number().nullable(), match: z.string(), context: z.string(), remedy: z.string() },
});
const answer = z.union([
  z.object({ ready: z.literal(true) }),
  z.object({ findings: z.array(finding) }),
  z.object({ fault: z.string() }),
]);

export interface ScannerChild {
  pid: number;
  isAlive(): boolean;
  /** One at a time. Whatever ends it early ends the process too: there is no other way to interrupt a native engine. */
  scan(files: readonly SkillFile[], timeoutMs: number, signal: AbortSignal): Promise<Finding[]>;
  kill(): void;
}

/** Starts the process and waits until it is warm. It is given no environment: hostile files are read there. */
export async function startScannerChild(maxBytes: number): Promise<ScannerChild> {
  const extension = extname(import.meta.filename);
  const script = fileURLToPath(new URL(`./scanner-process${extension}`, import.meta.url));
  const child = fork(script, [String(maxBytes)], {
    env: {},
    execArgv: extension === '.ts' ? ['--import', 'tsx'] : [],
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let lastWords = '';
  let isReading = false;
  child.stderr?.setEncoding('utf8').on('data', (words: string) => (lastWords = (lastWords + words).slice(-500)));
  // Its last words may come after its exit: only then is all said.
  const ended = once(child, 'close').then(
    ([code, signal]) => {
      const how = typeof signal === 'string' ? `by ${signal}` : `with code ${String(code)}`;
      const why = lastWords ? `: ${lastWords.trim()}` : '';
      // What a skill's own files bring about is no fault of ours, and says nothing of other skills; before it has any, it is ours.
      const isOfSkill = isReading && lastWords.includes(TOO_LARGE);
      return new AppError(
        'scan_failed',
        `the scanner process ended ${how}${why}`,
        isOfSkill ? { errorClass: 'BAD_INPUT' } : {},
      );
    },
    (cause: unknown) => new AppError('scan_failed', 'the scanner process could not be started', { cause }),
  );

  /** The next answer; or the reason why there is none, with the process gone for certain. */
  async function nextAnswer(timeoutMs: number, signal?: AbortSignal): Promise<z.infer<typeof answer>> {
    const settled = new AbortController();
    const late = new AppError('scan_timeout', `the scan took longer than ${String(timeoutMs)} ms`);
    const timer = setTimeout(() => settled.abort(late), timeoutMs);
    const stop = () => settled.abort(signal?.reason);
    signal?.addEventListener('abort', stop, { once: true });
    try {
      const message = once(child, 'message', { signal: settled.signal }).then(([said]) => answer.parse(said));
      const gone = ended.then((fault) => Promise.reject(fault));
      return await Promise.race([message, gone]);
    } catch (error) {
      child.kill('SIGKILL');
      await ended;
      throw settled.signal.aborted ? settled.signal.reason : error;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', stop);
    }
  }

  await nextAnswer(START_MS);
  // Idle, it must not keep its parent alive.
  child.unref();
  child.channel?.unref();
  if (child.stderr instanceof Socket) child.stderr.unref();
  return {
    pid: child.pid ?? 0,
    isAlive: () => child.exitCode === null && child.signalCode === null && child.connected,
    async scan(files, timeoutMs, signal) {
      signal.throwIfAborted();
      // A process that is gone does not take it; that it is gone is told by its exit.
      child.send(files, () => undefined);
      isReading = true;
      const said = await nextAnswer(timeoutMs, signal).finally(() => (isReading = false));
      if ('findings' in said) return said.findings;
      throw new AppError('scan_failed', 'fault' in said ? said.fault : 'the scanner process answered out of turn');
    },
    kill: () => void child.kill('SIGKILL'),
  };
}
