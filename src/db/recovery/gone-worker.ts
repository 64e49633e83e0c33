import { WORKER_SILENT_SECONDS } from '../../core/worker-silence.js';

/** When the worker of a row named `worker` was seen to be gone without having signed off. */
export function deathTimeOf(worker: string): string {
  return `COALESCE(${worker}.seen_gone_at, ${worker}.died_at)`;
}

/** When the worker died or signed off. Null: nobody has seen that it is gone. */
export function goneTimeOf(worker: string): string {
  return `COALESCE(${deathTimeOf(worker)}, ${worker}.stopped_at)`;
}

/** Whether the worker was seen just now. The condition on `stopped_at` stands alone, because an index has it as its predicate. */
export function isPresent(worker: string): string {
  return `(${worker}.stopped_at IS NULL AND ${deathTimeOf(worker)} IS NULL
    AND ${worker}.seen_at > now() - interval '${WORKER_SILENT_SECONDS} seconds')`;
}
