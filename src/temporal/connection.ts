import { readFileSync } from 'node:fs';
import { Client, Connection } from '@temporalio/client';

export interface TemporalSettings {
  address: string;
  namespace: string;
  tls: boolean;
  /** Paths of PEM files. */
  tlsFiles?: { serverCa?: string | undefined; clientCert?: string | undefined; clientKey?: string | undefined };
  /** The name in the server's certificate, where it differs from the address. */
  tlsServerName?: string | undefined;
  apiKey?: string | undefined;
}

/** The options of the client's and the worker's connections. The files are read for each connection, so that a new connection has
 *  renewed certificates. */
export function connectionOptionsOf(settings: TemporalSettings) {
  const { address, tls, apiKey } = settings;
  const options = tlsOptionsOf(settings);
  const isSecure = tls || apiKey !== undefined || Object.keys(options).length > 0;
  return { address, tls: isSecure && options, ...(apiKey !== undefined && { apiKey }) };
}

function tlsOptionsOf({ tlsFiles: { serverCa, clientCert, clientKey } = {}, tlsServerName }: TemporalSettings) {
  return {
    ...(tlsServerName !== undefined && { serverNameOverride: tlsServerName }),
    ...(serverCa !== undefined && { serverRootCACertificate: readFileSync(serverCa) }),
    ...(clientCert !== undefined &&
      clientKey !== undefined && { clientCertPair: { crt: readFileSync(clientCert), key: readFileSync(clientKey) } }),
  };
}

/** Without it a client tries only every two minutes to reach a server that was away for long, and nothing is started meanwhile. One
 *  try costs one refused connection. */
const RECONNECT_WITHIN_MS = 2_000;

/** The client connects on first use, so that the API starts and answers reads while Temporal is away. */
export function createTemporalClient(settings: TemporalSettings): Client {
  const channelArgs = { 'grpc.max_reconnect_backoff_ms': RECONNECT_WITHIN_MS };
  const connection = Connection.lazy({ ...connectionOptionsOf(settings), connectTimeout: '3s', channelArgs });
  return new Client({ connection, namespace: settings.namespace });
}
