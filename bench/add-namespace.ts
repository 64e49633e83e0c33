import { Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { until } from '../test/support/until.js';

/** Temporal's number for a search attribute that is one word. */
const KEYWORD = 2;

/** The dev server forgets nothing during a benchmark. */
const KEPT_MS = 24 * 3_600_000;

/** Adds a namespace to a dev server, with the search attribute of the server's own one. Comes back when every part of the server
 *  knows it: they look for new namespaces every few seconds. */
export async function addNamespace(address: string, namespace: string): Promise<void> {
  const connection = await Connection.connect({ address });
  try {
    const { workflowService, operatorService } = connection;
    await workflowService.registerNamespace({
      namespace,
      workflowExecutionRetentionPeriod: msToTs(KEPT_MS),
    });
    const isKnown = (call: () => Promise<unknown>) => () => call().then(Boolean, () => null);
    await until(
      'the namespace takes a search attribute',
      isKnown(() => operatorService.addSearchAttributes({ namespace, searchAttributes: { Pipeline: KEYWORD } })),
    );
    await until(
      'the namespace answers for its runs',
      isKnown(() => workflowService.countWorkflowExecutions({ namespace, query: `Pipeline = 'canary'` })),
    );
  } finally {
    await connection.close();
  }
}
