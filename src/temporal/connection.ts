import { Client, Connection } from '@temporalio/client';

export interface TemporalSettings {
  address: string;
  namespace: string;
  tls: boolean;
  apiKey?: string | undefined;
}

/** The options of the client's and the worker's connections. */
export function connectionOptionsOf({ address, tls, apiKey }: TemporalSettings) {
  return { address, tls: tls || apiKey !== undefined, ...(apiKey !== undefined && { apiKey }) };
}

/** The client connects on first use, so that the API starts and answers reads while Temporal is away. */
export function createTemporalClient(settings: TemporalSettings): Client {
  const connection = Connection.lazy({ ...connectionOptionsOf(settings), connectTimeout: '3s' });
  return new Client({ connection, namespace: settings.namespace });
}
