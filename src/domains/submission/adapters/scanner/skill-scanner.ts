import { verdictOf } from '../../core/verdict/scan-verdict.js';
import type { SkillScanner } from '../../ports/skill-scanner.js';
import { type ScannerChild, startScannerChild } from './scanner-child.js';
import { createTurns } from './turns.js';

export interface SkillScannerOptions {
  /** Of the scan itself, not of the wait for it. Twenty times what one should take: only a hostile file, or a machine on its
   *  knees, gets there. */
  timeoutMs?: number;
  /** Of the whole scanning process. A scan of the largest skill allowed stays under a third of it. */
  maxBytes?: number;
}

export interface ClosableSkillScanner extends SkillScanner {
  /** Of the process that waits or works; undefined while there is none. */
  childPid(): number | undefined;
  close(): void;
}

/** Scans in a process of its own, kept warm between scans, killed when a scan hangs, swells or is called off, and replaced.
 *  Not a thread: a thread can't be ended in the middle of native code. One scan at a time; a second waits. */
export function createSkillScanner({
  timeoutMs = 10_000,
  maxBytes = 1_024 ** 3,
}: SkillScannerOptions = {}): ClosableSkillScanner {
  let child: Promise<ScannerChild> | undefined;
  let living: ScannerChild | undefined;
  const turns = createTurns();

  /** A process that is gone, or could not be started, is replaced. */
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
        return { verdict: verdictOf(findings), findings, durationMs: Math.round(performance.now() - startedAt) };
      } finally {
        // The next one's turn comes whatever became of this one.
        done();
      }
    },
    childPid: () => (living?.isAlive() ? living.pid : undefined),
    close: () => living?.kill(),
  };
}
