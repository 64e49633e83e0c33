import { spawnSync } from 'node:child_process';
import type { Connection } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { assertTemporalReachable } from '../../src/start/embedded/assert-reachable.js';
import { installationOf } from '../../src/start/embedded/installation.js';
import { loadConfig } from '../../src/start/parts/from-domains.js';
import { connectionOptionsOf, createTemporalClient, type TemporalSettings } from '../../src/temporal/connection.js';
import { SERVER_NAME, startTlsTemporal, type TlsTemporal } from '../support/tls-temporal.js';

const hasOpenssl = spawnSync('openssl', ['version']).status === 0;

it('a client tries every few seconds to reach a Temporal that is away, however long that is', async () => {
  const { connection } = createTemporalClient({ address: '127.0.0.1:1', namespace: 'default', tls: false });
  const { channelArgs } = (connection as Connection).options;
  expect(channelArgs).toMatchObject({ 'grpc.max_reconnect_backoff_ms': 2_000 });
  await connection.close();
});

describe('a Temporal that takes only clients with a certificate', () => {
  let tls: TlsTemporal;
  beforeAll(async () => {
    if (hasOpenssl) tls = await startTlsTemporal(inject('temporalAddress'));
  });
  beforeEach(({ skip }) => {
    skip(!hasOpenssl, 'the certificates can not be made: install openssl');
  });
  afterAll(() => (hasOpenssl ? tls.close() : undefined));

  /** The settings as every command reads them from its variables. */
  function settingsWith(changed: Record<string, string> = {}): TemporalSettings {
    const variables = {
      TEMPORAL_ADDRESS: tls.address,
      TEMPORAL_TLS_SERVER_CA_CERT_PATH: tls.ca,
      TEMPORAL_TLS_CLIENT_CERT_PATH: tls.client.cert,
      TEMPORAL_TLS_CLIENT_KEY_PATH: tls.client.key,
      TEMPORAL_TLS_SERVER_NAME: SERVER_NAME,
    };
    return installationOf(loadConfig({ ...variables, ...changed })).temporal;
  }

  it('is reached by the client of the API, of the doctor and of other commands', async () => {
    const { connection } = createTemporalClient(settingsWith());
    const { namespaceInfo } = await connection.workflowService.describeNamespace({ namespace: 'default' });
    expect(namespaceInfo?.name).toBe('default');
    await connection.close();
  });

  it('is reached by the connection of a worker', async () => {
    const connection = await NativeConnection.connect(connectionOptionsOf(settingsWith()));
    const { namespaceInfo } = await connection.workflowService.describeNamespace({ namespace: 'default' });
    expect(namespaceInfo?.name).toBe('default');
    await connection.close();
  });

  it('is reached by the look that npm start takes before it starts anything', async () => {
    await assertTemporalReachable(settingsWith());
  });

  it.concurrent.each<[string, () => Record<string, string>]>([
    ['a client certificate', () => ({ TEMPORAL_TLS_CLIENT_CERT_PATH: '', TEMPORAL_TLS_CLIENT_KEY_PATH: '' })],
    [
      'a client certificate of its authority',
      () => ({ TEMPORAL_TLS_CLIENT_CERT_PATH: tls.stranger.cert, TEMPORAL_TLS_CLIENT_KEY_PATH: tls.stranger.key }),
    ],
    ['the authority', () => ({ TEMPORAL_TLS_SERVER_CA_CERT_PATH: '' })],
    ['the name in its certificate', () => ({ TEMPORAL_TLS_SERVER_NAME: '' })],
    ['the right name', () => ({ TEMPORAL_TLS_SERVER_NAME: 'temporal.elsewhere' })],
  ])('is not reached without %s, and the refusal names the variables', async (_, changed) => {
    await expect(assertTemporalReachable(settingsWith(changed()))).rejects.toThrow(/TEMPORAL_TLS_/);
  });
});
