import { scanVerdictOf } from '../../core/verdict/scan-verdict.js';
import type { SkillScanner } from '../../ports/skill-scanner.js';
import { type ScannerChild, startScannerChild } from './scanner-child.js';
import { createTurns } from './turns.js';

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

/** Scans in a process of its own, which is kept warm between scans. The process is killed and replaced when a scan
 *  hangs, takes too much memory or is called off. A thread would not do, because a thread can't be ended in the middle
 *  of native code. One scan runs at a time; the next waits. */
export function createSkillScanner({
  timeoutMs = 10_000,
  maxBytes = 1_024 ** 3,
}: SkillScannerOptions = {}): ClosableSkillScanner {
  let child: Promise<ScannerChild> | undefined;
  let living: ScannerChild | undefined;
  const turns = createTurns();

  /** Replaces a process that is gone or could not be started. */
  async function warmChild(): Promise<ScannerChild> {
    if (child && (await child.catch(() => undefined))?.isAlive()) return child;
    child = startScannerChild(maxBytes);
    living = await child;
    return living;
  }

  return {
    async scan(files, signal, onTurn = () => undefined) {
      const done = await turns.take(signal, onTurn);
      try {
        signal.throwIfAborted();
        const scanning = await warmChild();
        const startedAt = performance.now();
        const findings = await scanning.scan(files, timeoutMs, signal);
        return { verdict: scanVerdictOf(findings), findings, durationMs: Math.round(performance.now() - startedAt) };
      } finally {
        // The next scan gets its turn even if this scan failed.
        done();
      }
    },
    childPid: () => (living?.isAlive() ? living.pid : undefined),
    close: () => living?.kill(),
  };
}
