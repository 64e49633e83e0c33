import { z } from 'zod';
import { createKeptChild } from '../../../../adapters/kept-child.js';
import type { ChildFaults } from '../../../../adapters/killable-child.js';
import { AppError } from '../../../../core/errors.js';
import { SEVERITIES, scanVerdictOf } from '../../core/verdict/scan-verdict.js';
import { SUBMISSION_CODES } from '../../errors.js';
import type { SkillScanner } from '../../ports/skill-scanner.js';

export interface SkillScannerOptions {
  /** The limit of one scan, without the wait for its turn. A scan should take a twentieth of it, so only a hostile file
   *  or an overloaded machine reaches the limit. */
  timeoutMs?: number;
  /** Memory of the whole scanning process. A scan of the largest skill allowed takes less than a third of it. */
  maxBytes?: number;
}

export interface ClosableSkillScanner extends SkillScanner {
  /** The pid of the scanning process. Undefined: there is no such process at the moment. */
  childPid(): number | undefined;
  close(): void;
}

const foundByScan = z.array(
  z.object({
    id: z.string(),
    name: z.string(),
    severity: z.enum(SEVERITIES),
    category: z.string(),
    file: z.string(),
    line: z.number().nullable(),
    match: z.string(),
    context: z.string(),
    remedy: z.string(),
  }),
);

const faults: ChildFaults = {
  // A process that grows too large while it reads a skill does so because of the skill's files. That says nothing
  // about other skills. Before it reads a skill, the fault is ours.
  gone: (how, isTooLarge, cause) =>
    new AppError(SUBMISSION_CODES.scan_failed, `the scanner process ${how}`, {
      ...(cause !== undefined && { cause }),
      ...(isTooLarge && { errorClass: 'BAD_INPUT' }),
    }),
  timeUp: (timeoutMs) => new AppError(SUBMISSION_CODES.scan_timeout, `the scan took longer than ${timeoutMs} ms`),
  said: ({ message }) => new AppError(SUBMISSION_CODES.scan_failed, message),
};

/** Scans in a process of its own. The process is killed and replaced when a scan hangs, takes too much memory or is called off.
 *  One scan runs at a time; the next waits. */
export function createSkillScanner({
  timeoutMs = 10_000,
  maxBytes = 1_024 ** 3,
}: SkillScannerOptions = {}): ClosableSkillScanner {
  const child = createKeptChild({ script: new URL('./scanner-process', import.meta.url), maxBytes, faults });

  return {
    async scan(files, signal, onTurn = () => undefined) {
      let startedAt = performance.now();
      const said = await child.ask({ question: files, timeoutMs, signal }, (ahead) => {
        if (ahead === 0) startedAt = performance.now();
        onTurn(ahead);
      });
      const findings = foundByScan.parse(said);
      return { verdict: scanVerdictOf(findings), findings, durationMs: Math.round(performance.now() - startedAt) };
    },
    childPid: () => child.pid(),
    close: () => child.close(),
  };
}
