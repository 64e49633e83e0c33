import { describe, expect, inject, it, onTestFinished } from 'vitest';
import type { Client } from '@temporalio/client';
import { findTemporalCli } from '../../../scripts/find-temporal-cli.mjs';
import type { Patient } from '../../../src/start/doctor/check.js';
import { checkTimers, timersFinding } from '../../../src/start/doctor/timers.js';
import { startTemporal } from '../../../src/start/embedded/embedded-temporal.js';
import { createTemporalClient } from '../../../src/temporal/connection.js';
import { freePort } from '../../support/free-port.js';
import { until } from '../../support/until.js';

function clientAt(address: string, namespace = 'default'): Client {
  const client = createTemporalClient({ address, namespace, tls: false });
  onTestFinished(() => client.connection.close());
  return client;
}

/** As much of a patient as this check looks at. */
function patientOf(temporal: Client): Patient {
  return { temporal, config: { installation: 'timed', temporal: { address: 'named' } } } as unknown as Patient;
}

async function lateServer(timerShiftMs: number): Promise<string> {
  const options = { cliPath: findTemporalCli(), port: await freePort(), timerShiftMs, log: () => undefined };
  const server = await startTemporal(options);
  onTestFinished(server.stop);
  return server.address;
}

async function runsOf(client: Client): Promise<{ type: string; status: string; taskQueue: string }[]> {
  const runs: { type: string; status: string; taskQueue: string }[] = [];
  for await (const { type, status, taskQueue } of client.workflow.list({ query: "WorkflowType = 'doctor-timer'" })) {
    runs.push({ type, status: status.name, taskQueue });
  }
  return runs;
}

describe('the timers of Temporal', () => {
  it('are on time where the server is ours', async () => {
    const finding = await checkTimers(patientOf(clientAt(inject('temporalAddress'))));

    expect(finding).toMatchObject({ level: 'ok', says: expect.stringMatching(/was \d+ ms late/) as string });
  });

  it("are late with the server's default, which is named, and every run that was timed is ended", async () => {
    const client = clientAt(await lateServer(1_000));

    expect(await checkTimers(patientOf(client))).toMatchObject({
      level: 'warning',
      says: expect.stringMatching(/^Timers of Temporal are [01]\.\d s late/) as string,
      remedy: expect.stringContaining('history.timerProcessorMaxTimeShift') as string,
    });
    const runs = await until('the list shows that every run has ended', async () => {
      const listed = await runsOf(client);
      return listed.length > 1 && listed.every(({ status }) => status !== 'RUNNING') ? listed : null;
    });
    const ended = { type: 'doctor-timer', status: 'TERMINATED', taskQueue: 'timed.doctor-timers' };
    expect(runs).toEqual(runs.map(() => ended));
  });

  it('are late by at least the time that the doctor waited', async () => {
    const finding = await checkTimers(patientOf(clientAt(await lateServer(30_000))));

    expect(finding).toMatchObject({ level: 'warning', says: expect.stringMatching(/at least 3\.\d s late/) as string });
  });

  it.each([
    ['the namespace is not there', () => clientAt(inject('temporalAddress'), 'nowhere')],
    ['the server does not answer', () => clientAt('127.0.0.1:9')],
  ])('are not known when %s', async (_, client) => {
    const finding = await checkTimers(patientOf(client()));

    expect(finding).toMatchObject({ level: 'warning', says: expect.stringContaining('is not known') as string });
  });
});

describe('the finding about timers', () => {
  const fired = (ms: number) => ({ ms, hasFired: true });

  it.each([
    ['one of them is on time', [fired(900), fired(20)], 'ok', 'was 20 ms late'],
    ['all of them are late', [fired(1_400), fired(900), fired(1_100)], 'warning', 'are 0.9 s late'],
    ['one of them did not fire', [{ ms: 3_800, hasFired: false }], 'warning', 'are at least 3.8 s late'],
    ['none could be timed', [], 'warning', 'is not known'],
    ['there was no time to wait for one', [{ ms: 10, hasFired: false }], 'warning', 'is not known'],
  ] as const)('when %s', (_, timed, level, says) => {
    expect(timersFinding(timed, false)).toMatchObject({ level, says: expect.stringContaining(says) as string });
  });

  it('sends to npm start where that runs the server, and to the server otherwise', () => {
    const remedies = [true, false].map((isEmbedded) => timersFinding([fired(900)], isEmbedded));

    expect(remedies).toMatchObject([
      { remedy: expect.stringContaining('Restart npm start') as string },
      { remedy: expect.stringContaining('history.timerProcessorMaxTimeShift') as string },
    ]);
  });
});
