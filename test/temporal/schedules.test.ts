import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest';
import { findTemporalCli } from '../../scripts/find-temporal-cli.mjs';
import type { ScheduleRow } from '../../src/core/schedules.js';
import type { ScheduleStatus } from '../../src/ports/schedules.js';
import { findForeignSchedule } from '../../src/temporal/find-foreign-schedule.js';
import { reconcileSchedules } from '../../src/temporal/reconcile-schedules.js';
import { createTemporalSchedules } from '../../src/temporal/schedules.js';
import { gate } from '../support/barrier.js';
import { startProxy } from '../support/proxy.js';
import { type Maintenance, openMaintenance, pageOf, rowOf } from '../support/maintenance.js';
import { until } from '../support/until.js';

let maintenance: Maintenance;
beforeAll(async () => {
  maintenance = await openMaintenance();
});
afterAll(() => maintenance.close());

function schedules() {
  return createTemporalSchedules(maintenance.client, []);
}

const VERSION = '1.2.3';

async function reconcile(client: Client, rows: readonly ScheduleRow[], version = VERSION): Promise<void> {
  await reconcileSchedules(client, rows, { version });
}

/** The test's client, but some schedules answer otherwise. */
function clientWith(ids: readonly string[], describe: () => Promise<never>): Client {
  const { client } = maintenance;
  const getHandle = (id: string) => (ids.includes(id) ? { describe } : client.schedule.getHandle(id));
  return { connection: client.connection, schedule: { getHandle } } as unknown as Client;
}

async function statusOf(id: string): Promise<ScheduleStatus> {
  const status = await schedules().find(id);
  if (!status) throw new Error(`there is no schedule ${id}`);
  return status;
}

/** On a busy machine a schedule may take longer to answer than we wait: then it is asked again. */
async function untilStatus(what: string, id: string, isSo: (status: ScheduleStatus) => boolean): Promise<void> {
  await until(what, async () => {
    const status = await schedules()
      .find(id)
      .catch(() => null);
    return status !== null && isSo(status);
  });
}

function describeSchedule(id: string) {
  return maintenance.client.schedule.getHandle(id).describe();
}

describe('reconciling', () => {
  it('makes what is missing, as declared, and twice is once', async () => {
    const rows = [rowOf('made', { when: { every: '2m' } }), rowOf('daily', { when: { dailyAt: '04:30' } })];
    await reconcile(maintenance.client, rows);
    const first = await describeSchedule('made');
    expect(first).toMatchObject({
      spec: { intervals: [{ every: 120_000 }] },
      action: { workflowType: 'sweep', taskQueue: 'maintenance', workflowRunTimeout: 50_000, args: [rows[0]?.input] },
      policies: { overlap: 'SKIP', catchupWindow: 10_000 },
      state: { paused: false },
    });
    const next = (await statusOf('daily')).nextAt;
    expect([next?.getUTCHours(), next?.getUTCMinutes()]).toEqual([4, 30]);

    await reconcile(maintenance.client, rows);

    for (const { id } of rows) expect((await describeSchedule(id)).info.lastUpdatedAt).toBeUndefined();
  });

  it('by several processes at once leaves one', async () => {
    const rows = [rowOf('rushed')];
    await Promise.all(Array.from({ length: 6 }, () => reconcile(maintenance.client, rows)));
    expect((await describeSchedule('rushed')).spec.intervals).toHaveLength(1);
  });

  it('changes what the table changed', async () => {
    await reconcile(maintenance.client, [rowOf('changed')]);
    const faster = rowOf('changed', { when: { every: '30m' }, input: { pipeline: 'straight', rescues: 5 } });
    await reconcile(maintenance.client, [faster]);
    expect(await describeSchedule('changed')).toMatchObject({
      spec: { intervals: [{ every: 1_800_000 }] },
      action: { args: [{ pipeline: 'straight', rescues: 5 }] },
    });
    await reconcile(maintenance.client, [rowOf('changed', { when: { dailyAt: '05:00' } })]);
    const { spec } = await describeSchedule('changed');
    expect([spec.intervals?.length ?? 0, spec.calendars?.[0]?.hour[0]?.start]).toEqual([0, 5]);
  });

  it('leaves a schedule of another installation alone, and names the installation', async () => {
    const [ours, theirs] = [randomUUID(), randomUUID()];
    const write = (id: string, rescues: number) => {
      const row = rowOf('owned', { input: { pipeline: 'straight', rescues } });
      return reconcileSchedules(maintenance.client, [row], { version: VERSION, installation: { name: '', id } });
    };
    expect(await write(theirs, 1)).toBeNull();

    expect(await write(ours, 2)).toEqual({ schedule: 'owned', installation: theirs });
    expect(await describeSchedule('owned')).toMatchObject({
      action: { args: [{ rescues: 1 }], memo: { version: VERSION, installation: theirs } },
    });
    const own = { name: '', id: ours };
    expect(await findForeignSchedule(maintenance.client, ['missing', 'owned'], own)).toEqual({
      schedule: 'owned',
      installation: theirs,
    });
    expect(await findForeignSchedule(maintenance.client, ['owned'], { name: '', id: theirs })).toBeNull();
    expect(await findForeignSchedule(maintenance.client, ['owned'], { name: 'blue', id: ours })).toBeNull();
  });

  it('asks no more once one schedule has named the installation, even if another one never answers', async () => {
    const installation = { name: '', id: randomUUID() };
    await reconcileSchedules(maintenance.client, [rowOf('answers')], { version: VERSION, installation });
    const stuck = clientWith(['hangs'], () => new Promise<never>(() => undefined));

    expect(await findForeignSchedule(stuck, ['hangs', 'answers'], installation)).toBeNull();
    expect(await findForeignSchedule(stuck, ['hangs', 'answers'], { name: '', id: 'another' })).toEqual({
      schedule: 'answers',
      installation: installation.id,
    });
  });

  it('does not call the names free while a schedule gives no answer', async () => {
    const failing = clientWith(['fails'], () => Promise.reject(new Error('no answer')));
    const found = findForeignSchedule(failing, ['missing', 'fails'], { name: '', id: randomUUID() });
    await expect(found).rejects.toMatchObject({ code: 'engine_unavailable' });
  });

  it('writes a schedule again that a version without the id has written', async () => {
    const installation = { name: '', id: randomUUID() };
    await reconcile(maintenance.client, [rowOf('upgraded')]);

    expect(await findForeignSchedule(maintenance.client, ['upgraded'], installation)).toBeNull();
    await reconcileSchedules(maintenance.client, [rowOf('upgraded')], { version: VERSION, installation });

    expect((await describeSchedule('upgraded')).action.memo).toEqual({
      version: VERSION,
      installation: installation.id,
    });
  });

  it('gives the schedules and runs of an installation with a name that name', async () => {
    const installation = { name: 'blue', id: randomUUID() };
    const rows = [rowOf('both')];
    await reconcile(maintenance.client, rows);
    await reconcileSchedules(maintenance.client, rows, { version: VERSION, installation });

    expect((await describeSchedule('blue.both')).action).toMatchObject({
      workflowId: 'blue.both',
      memo: { installation: installation.id },
    });
    expect((await describeSchedule('both')).action).toMatchObject({ workflowId: 'both', memo: { version: VERSION } });
    const blue = createTemporalSchedules(maintenance.client, rows, { name: 'blue', id: () => installation.id });
    await blue.pause('both', 'eve: mine alone');
    expect([(await blue.find('both'))?.paused, (await statusOf('both')).paused]).toEqual([
      { why: 'eve: mine alone' },
      null,
    ]);
  });

  it('leaves an operator’s pause as it is, changed table or not', async () => {
    await reconcile(maintenance.client, [rowOf('paused')]);
    await schedules().pause('paused', 'adam: the disk is full');
    await reconcile(maintenance.client, [rowOf('paused')]);
    await reconcile(maintenance.client, [rowOf('paused', { when: { every: '3h' } })]);
    expect((await statusOf('paused')).paused).toEqual({ why: 'adam: the disk is full' });
    await schedules().resume('paused', 'adam: it is not');
    await untilStatus('it is resumed', 'paused', ({ paused }) => paused === null);
  });

  it('does not undo a pause of the moment in which it writes', async () => {
    await reconcile(maintenance.client, [rowOf('raced')]);
    const proxy = await startProxy(Number(inject('temporalAddress').split(':')[1]));
    const connection = await Connection.connect({ address: `127.0.0.1:${String(proxy.port)}` });
    onTestFinished(async () => {
      await connection.close();
      await proxy.close();
    });
    const client = new Client({ connection, namespace: maintenance.namespace });
    const changed = [rowOf('raced', { when: { every: '3h' }, input: { pipeline: 'raced', rescues: 7_654 } })];
    // Only what is written names the number.
    const written = proxy.holdBack((request) => request.includes('7654'));
    const writing = reconcile(client, changed);
    await written;
    await schedules().pause('raced', 'adam: looking');
    proxy.heal();

    await writing;
    expect(await describeSchedule('raced')).toMatchObject({
      action: { args: [{ rescues: 10 }] },
      state: { paused: true, note: 'adam: looking' },
    });
    await reconcile(maintenance.client, changed);
    expect(await describeSchedule('raced')).toMatchObject({
      action: { args: [{ rescues: 7_654 }] },
      state: { paused: true, note: 'adam: looking' },
    });
  });

  it('pauses what is switched off, and resumes only its own pause', async () => {
    await reconcile(maintenance.client, [rowOf('off', { isOn: false })]);
    expect(await schedules().find('off')).toBeNull();
    await reconcile(maintenance.client, [rowOf('off')]);
    await reconcile(maintenance.client, [rowOf('off', { isOn: false })]);
    expect((await statusOf('off')).paused).toEqual({ why: 'switched off by the configuration' });
    await reconcile(maintenance.client, [rowOf('off')]);
    expect((await statusOf('off')).paused).toBeNull();
  });
});

describe('a rolling upgrade', () => {
  const [older, newer] = [rowOf('rolled'), rowOf('rolled', { when: { every: '30m' } })];

  async function intervalMs(): Promise<number | undefined> {
    return (await describeSchedule('rolled')).spec.intervals?.[0]?.every;
  }

  it('lets no older version overwrite or switch off the schedule of a newer one', async () => {
    await reconcile(maintenance.client, [newer], '1.10.0');
    await reconcile(maintenance.client, [older], '1.9.0');
    await reconcile(maintenance.client, [{ ...older, isOn: false }], '1.10.0-rc.1');

    expect(await describeSchedule('rolled')).toMatchObject({
      action: { memo: { version: '1.10.0' } },
      spec: { intervals: [{ every: 1_800_000 }] },
      state: { paused: false },
    });
  });

  it('lets no older version overwrite the schedule that a newer one writes at that moment', async () => {
    await reconcile(maintenance.client, [rowOf('outrun')], '1.0.0');
    const connection = await Connection.connect({ address: inject('temporalAddress') });
    onTestFinished(() => connection.close());
    const { workflowService } = connection;
    const read = workflowService.describeSchedule.bind(workflowService);
    let reads = 0;
    // A version reads a schedule to see whether it differs, and again to write it.
    const describeSchedule = async (request: object) => {
      reads += 1;
      if (reads === 2) await reconcile(maintenance.client, [rowOf('outrun', { when: { every: '30m' } })], '3.0.0');
      return read(request);
    };
    Object.assign(workflowService, { describeSchedule });
    const client = new Client({ connection, namespace: maintenance.namespace });

    await reconcile(client, [rowOf('outrun', { when: { every: '3h' }, isOn: false })], '2.0.0');

    expect(reads).toBe(2);
    expect(await maintenance.client.schedule.getHandle('outrun').describe()).toMatchObject({
      action: { memo: { version: '3.0.0' } },
      spec: { intervals: [{ every: 1_800_000 }] },
      state: { paused: false },
    });
  });

  it('writes the schedule again after a version before this rule has overwritten it', async () => {
    await maintenance.client.schedule.getHandle('rolled').update(({ action, ...before }) => {
      const { memo: _, ...without } = action;
      return { ...before, action: without, spec: { intervals: [{ every: 7_200_000 }] } };
    });
    expect(await intervalMs()).toBe(7_200_000);

    await reconcile(maintenance.client, [newer], '1.10.0');

    expect(await intervalMs()).toBe(1_800_000);
    await reconcile(maintenance.client, [older], '1.9.0');
    expect(await intervalMs()).toBe(1_800_000);
  });

  it('lets the newer version take the schedule over, though nothing else has changed', async () => {
    await reconcile(maintenance.client, [newer], '2.0.0');
    await reconcile(maintenance.client, [older], '1.10.0');
    expect(await describeSchedule('rolled')).toMatchObject({ action: { memo: { version: '2.0.0' } } });
    expect(await intervalMs()).toBe(1_800_000);
  });
});

describe('a schedule', () => {
  it('that is not there is said to be missing', async () => {
    await expect(schedules().trigger('nowhere')).rejects.toMatchObject({ code: 'not_found' });
    await expect(schedules().pause('nowhere', 'x')).rejects.toMatchObject({ code: 'not_found' });
    expect(await schedules().find('nowhere')).toBeNull();
  });

  it('runs its job when it is triggered, by us or with the CLI', async () => {
    const worker = await maintenance.work();
    const row = rowOf('sweep-byhand', { input: { pipeline: 'byhand', rescues: 1 } });
    await reconcile(maintenance.client, [row]);

    await schedules().trigger(row.id);
    await until('the first run is kept', async () => (await maintenance.jobs(row.id))[0]?.status === 'completed');
    const address = ['--address', inject('temporalAddress'), '--namespace', maintenance.namespace];
    await promisify(execFile)(findTemporalCli(), ['schedule', 'trigger', '--schedule-id', row.id, ...address]);
    await until('the second is kept beside it', async () => (await maintenance.jobs(row.id))[0]?.runs === 2);

    await untilStatus('both are counted', row.id, ({ actions }) => actions === 2);
    expect((await statusOf(row.id)).lastAt).toBeInstanceOf(Date);
    await worker.stop();
  });

  it('leaves out a run while the one before goes on, and counts that', async () => {
    const [begun, over] = [gate(), gate()];
    const worker = await maintenance.work({
      async sweepPage() {
        begun.open();
        await over.opened;
        return pageOf({ isLast: true });
      },
    });
    const row = rowOf('sweep-slow', { input: { pipeline: 'slow', rescues: 1 } });
    await reconcile(maintenance.client, [row]);
    await schedules().trigger(row.id);
    await begun.opened;
    await untilStatus('the schedule knows of its run', row.id, ({ running }) => running.length === 1);

    await schedules().trigger(row.id);

    await untilStatus('the skip is counted', row.id, ({ skipped }) => skipped === 1);
    over.open();
    await until('the first ends', async () => (await maintenance.jobs(row.id))[0]?.status === 'completed');
    expect(await maintenance.jobs(row.id)).toHaveLength(1);
    await worker.stop();
  });

  it('lets its run be aborted', async () => {
    const begun = gate();
    const worker = await maintenance.work({
      sweepPage() {
        begun.open();
        return new Promise(() => undefined);
      },
    });
    const row = rowOf('sweep-aborted', { input: { pipeline: 'aborted', rescues: 1 } });
    await reconcile(maintenance.client, [row]);
    await schedules().trigger(row.id);
    await begun.opened;
    await untilStatus('the schedule knows of its run', row.id, ({ running }) => running.length === 1);

    await schedules().abort(row.id);

    await until('the run has ended', async () => (await maintenance.jobs(row.id))[0]?.status === 'aborted');
    expect((await maintenance.jobs(row.id))[0]?.errors).toEqual([]);
    await worker.stop();
  });

  it('fires by itself', async () => {
    const worker = await maintenance.work();
    const row = rowOf('sweep-ticking', {
      when: { every: '1s' },
      runTimeoutMs: 900,
      input: { pipeline: 'ticking', rescues: 1 },
    });
    await reconcile(maintenance.client, [row]);
    await untilStatus('it has run twice', row.id, ({ actions }) => actions >= 2);
    await schedules().pause(row.id, 'enough');
    await worker.stop();
  });
});
