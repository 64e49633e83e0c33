import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Socket } from 'node:net';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { AppError } from '../../../../core/errors.js';
import { isTimeUp, runWithinTime } from '../../../../ports/within-time.js';
import { SUBMISSION_CODES } from '../../errors.js';
import { SEVERITIES } from '../../core/verdict/scan-verdict.js';
import type { ScanFinding } from '../../ports/skill-scanner.js';
import type { SkillFile } from '../../ports/skill.js';
import { TOO_LARGE } from '../../../../adapters/watch-process.js';

/** Compiling the rules takes under a second. Only a badly overloaded machine takes this long. */
const START_MS = 60_000;

const finding = z.object({
  id: z.string(),
  name: z.string(),
  severity: z.enum(SEVERITIES),
  category: z.string(),
  file: z.string(),
  line: z.number().nullable(),
  match: z.string(),
  context: z.string(),
  remedy: z.string(),
});
const answer = z.union([
  z.object({ ready: z.literal(true) }),
  z.object({ findings: z.array(finding) }),
  z.object({ fault: z.string() }),
]);

export interface ScannerChild {
  pid: number;
  isAlive(): boolean;
  /** One scan at a time. A scan that ends early ends the process too, because a native engine can't be interrupted
   *  otherwise. */
  scan(files: readonly SkillFile[], timeoutMs: number, signal: AbortSignal): Promise<ScanFinding[]>;
  kill(): void;
}

/** Starts the process and waits until it is warm. The process has no environment, because it reads hostile files. */
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
  // The process's last words may arrive after its exit, so this waits for the end of its output.
  const ended = once(child, 'close').then(
    ([code, signal]) => {
      const how = typeof signal === 'string' ? `by ${signal}` : `with code ${String(code)}`;
      const why = lastWords ? `: ${lastWords.trim()}` : '';
      // A process that grows too large while it reads a skill does so because of the skill's files. That says nothing
      // about other skills. Before it reads a skill, the fault is ours.
      const isOfSkill = isReading && lastWords.includes(TOO_LARGE);
      return new AppError(
        SUBMISSION_CODES.scan_failed,
        `the scanner process ended ${how}${why}`,
        isOfSkill ? { errorClass: 'BAD_INPUT' } : {},
      );
    },
    (cause: unknown) =>
      new AppError(SUBMISSION_CODES.scan_failed, 'the scanner process could not be started', { cause }),
  );

  /** The next answer. Fails with the reason why there is none, once the process is gone for certain. */
  function nextAnswer(timeoutMs: number, outerSignal?: AbortSignal): Promise<z.infer<typeof answer>> {
    return runWithinTime({ signal: outerSignal, timeoutMs }, async (signal) => {
      try {
        const message = once(child, 'message', { signal }).then(([said]) => answer.parse(said));
        const gone = ended.then((fault) => Promise.reject(fault));
        return await Promise.race([message, gone]);
      } catch (error) {
        child.kill('SIGKILL');
        await ended;
        if (isTimeUp(signal))
          throw new AppError(SUBMISSION_CODES.scan_timeout, `the scan took longer than ${timeoutMs} ms`);
        throw signal.aborted ? signal.reason : error;
      }
    });
  }

  await nextAnswer(START_MS);
  // An idle process must not keep its parent alive.
  child.unref();
  child.channel?.unref();
  if (child.stderr instanceof Socket) child.stderr.unref();
  return {
    pid: child.pid ?? 0,
    isAlive: () => child.exitCode === null && child.signalCode === null && child.connected,
    async scan(files, timeoutMs, signal) {
      signal.throwIfAborted();
      // Sending to a process that is gone fails. Its exit tells us, so the error here is ignored.
      child.send(files, () => undefined);
      isReading = true;
      const said = await nextAnswer(timeoutMs, signal).finally(() => (isReading = false));
      if ('findings' in said) return said.findings;
      throw new AppError(
        SUBMISSION_CODES.scan_failed,
        'fault' in said ? said.fault : 'the scanner process answered out of turn',
      );
    },
    kill: () => void child.kill('SIGKILL'),
  };
}
