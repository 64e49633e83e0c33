import { DefaultLogger, Runtime } from '@temporalio/worker';
import { IllegalStateError } from '@temporalio/common';

/** Tests kill and cancel: only what is broken is worth a line. */
export function installRuntime(): void {
  const logging = { filter: { core: 'ERROR', other: 'ERROR' } } as const;
  try {
    Runtime.install({ shutdownSignals: [], logger: new DefaultLogger('ERROR'), telemetryOptions: { logging } });
  } catch (error) {
    // There already: one of its connections or workers is still open.
    if (!(error instanceof IllegalStateError)) throw error;
  }
}
