import { Client, Connection } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { inject } from 'vitest';

export interface TestTemporal {
  address: string;
  client: Client;
  /** For workers. End them before `close`. */
  nativeConnection: NativeConnection;
  close(): Promise<void>;
}

/** Connections to the one Temporal server of the test run. It is shared: every test takes a task queue of its own. */
export async function connectTemporal(): Promise<TestTemporal> {
  const address = inject('temporalAddress');
  const [connection, nativeConnection] = await Promise.all([
    Connection.connect({ address }),
    NativeConnection.connect({ address }),
  ]);
  async function close(): Promise<void> {
    await Promise.all([connection.close(), nativeConnection.close()]);
  }
  return { address, client: new Client({ connection }), nativeConnection, close };
}
