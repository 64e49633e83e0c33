import { Worker } from '@temporalio/worker';
import { eventsOf, type Recording } from './recording.js';
import { installRuntime } from './runtime.js';

/** What a bundle makes of these histories: the error of each that it would not go on with, by name. */
export async function replay(
  recordings: readonly Recording[],
  workflowBundle: { codePath: string },
): Promise<Record<string, string>> {
  installRuntime();
  const errors: Record<string, string> = {};
  const names = new Map(recordings.map(({ name, history }) => [runIdOf(history), name]));
  const results = Worker.runReplayHistories(
    { workflowBundle },
    recordings.map(({ workflowId, history }) => ({ workflowId, history })),
  );
  for await (const { runId, error } of results) {
    if (error) errors[names.get(runId) ?? runId] = error.message;
  }
  return errors;
}

function runIdOf(history: unknown): string {
  const [first] = eventsOf({ history });
  return (first?.['workflowExecutionStartedEventAttributes'] as { originalExecutionRunId: string })
    .originalExecutionRunId;
}
