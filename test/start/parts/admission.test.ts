import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { ensureIdentity } from '../../../src/db/postgres/installation.js';
import type { Sql } from '../../../src/ports/sql.js';
import { type Patient, runChecks } from '../../../src/start/doctor/check.js';
import { installationChecks } from '../../../src/start/doctor/installation-checks.js';
import { installationOf } from '../../../src/start/embedded/installation.js';
import { seekAdmission } from '../../../src/start/parts/admission.js';
import { loadConfig } from '../../../src/start/parts/from-domains.js';
import { scheduleRowsOf } from '../../../src/start/parts/schedule-rows.js';
import { reconcileSchedules } from '../../../src/temporal/reconcile-schedules.js';
import { type Maintenance, openMaintenance } from '../../support/maintenance.js';

let maintenance: Maintenance;
beforeAll(async () => {
  maintenance = await openMaintenance();
});
afterAll(() => maintenance.close());

const logger = pino({ level: 'silent' });

function configOf(installation = '') {
  return loadConfig({ TEMPORAL_NAMESPACE: maintenance.namespace, INSTALLATION: installation });
}

function seek(sql: Sql, installation = '') {
  const config = configOf(installation);
  const stop = new AbortController();
  onTestFinished(() => {
    stop.abort();
  });
  return seekAdmission({ config, sql, client: maintenance.client, rows: scheduleRowsOf(config), logger }, stop.signal);
}

/** A database that is away for its first query. */
function lateDatabase(): Sql {
  let asked = 0;
  return {
    query: (text, values) => {
      asked += 1;
      if (asked === 1) return Promise.reject(new Error('connect ECONNREFUSED'));
      return maintenance.pool.query(text, values ? [...values] : []) as ReturnType<Sql['query']> as never;
    },
  };
}

async function findingsOf(installation = '') {
  const config = configOf(installation);
  const checks = installationChecks.map(({ name, run }) => ({ name, run }));
  const patient = {
    config,
    installation: installationOf(config),
    pool: maintenance.pool,
    temporal: maintenance.client,
  };
  return runChecks(checks, patient as unknown as Patient);
}

describe('a process that seeks its admission', () => {
  it('waits for a database that is away, and lets no call to Temporal through meanwhile', async () => {
    const admission = seek(lateDatabase());
    expect(() => admission.id()).toThrow('it is not known yet whether this installation may use the namespace');

    const id = await admission.admitted;

    expect(id).toBe((await ensureIdentity(maintenance.pool)).id);
    expect(admission.id()).toBe(id);
    expect(await ensureIdentity(maintenance.pool)).toMatchObject({ name: '' });
  });

  it('is refused later too, when its schedules turn out to be those of another installation', async () => {
    const admission = seek(maintenance.pool);
    const id = await admission.admitted;
    admission.refuse({ schedule: 'sweep-canary', installation: 'theirs' });

    await expect(admission.refused).rejects.toThrow(
      `cannot start: the schedule sweep-canary in the namespace ${maintenance.namespace} belongs to installation theirs, and this database is installation ${id}.`,
    );
  });
});

it('the doctor names the installation, and says whose the names are', async () => {
  await seek(maintenance.pool).admitted;
  const { id } = await ensureIdentity(maintenance.pool);
  expect(await findingsOf()).toEqual([
    { name: 'installation', level: 'ok', says: `This database is installation ${id}, without a name.` },
    {
      name: 'namespace',
      level: 'ok',
      says: `No other installation uses our names in the namespace '${maintenance.namespace}'.`,
    },
  ]);
  expect((await findingsOf('blue'))[0]).toMatchObject({
    level: 'problem',
    says: expect.stringContaining(
      'INSTALLATION is blue, and the runs of this database are in Temporal without a name.',
    ) as string,
  });

  const theirs = { name: '', id: randomUUID() };
  await reconcileSchedules(maintenance.client, scheduleRowsOf(configOf()), { version: '1.2.3', installation: theirs });

  expect((await findingsOf())[1]).toMatchObject({
    level: 'problem',
    says: expect.stringContaining(
      `belongs to installation ${theirs.id}, and this database is installation ${id}.`,
    ) as string,
  });
  await expect(seek(maintenance.pool).admitted).rejects.toThrow(`belongs to installation ${theirs.id}`);
});
