import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findTemporalCli } from '../../scripts/find-temporal-cli.mjs';
import { projectRoot } from '../../src/config.js';
import { PIPELINES } from '../../src/domains/tables.js';
import { type Installation, startInstallation } from '../support/installation.js';
import { SCHEDULES } from '../support/schedules.js';
import { until } from '../support/until.js';
import { type Caller, callerOf } from './caller.js';

/** The sweeps would run by themselves in the middle of the test. */
const SETTINGS = Object.fromEntries(Object.keys(PIPELINES).map((name) => [`${name.toUpperCase()}_SWEEP_EVERY`, '1h']));

/** The schedules that are on where nothing is set. A domain's own tests switch on its other jobs. */
const IDS = SCHEDULES.filter(({ isOn }) => isOn).map(({ id }) => id);

/** What operators are told to type, with the sweep in it. */
const DOCUMENTED = readFileSync(join(projectRoot, 'docs', 'operations.md'), 'utf8');

let installation: Installation;
let admin: Caller;
let token: string;
beforeAll(async () => {
  installation = await startInstallation(SETTINGS);
  admin = await callerOf(installation, 'root', ['admin']);
  token = await installation.token('root', ['admin']);
  await until('every schedule is there', async () => {
    const there = (await seen()).filter(({ inTemporal }) => inTemporal === true).map(({ id }) => id);
    return IDS.every((id) => there.includes(id));
  });
}, 180_000);
afterAll(() => installation.stop());

interface Seen {
  id: string;
  inTemporal: boolean | null;
  state: { paused: { why: string } | null } | null;
}

async function seen(): Promise<Seen[]> {
  const { status, body } = await admin.get('/api/v1/schedules');
  expect(status).toBe(200);
  return body['schedules'] as Seen[];
}

async function isPaused(id: string): Promise<boolean | undefined> {
  const { state } = (await seen()).find((each) => each.id === id) ?? {};
  return state ? state.paused !== null : undefined;
}

async function runsOf(id: string): Promise<number> {
  const { rows } = await installation.pool.query<{ runs: number }>(
    `SELECT COALESCE(sum(runs), 0)::int AS runs FROM job_executions WHERE job = $1 AND status = 'completed'`,
    [id],
  );
  return rows[0]?.runs ?? 0;
}

/** The command as it stands in the operations page, which must have it, for another schedule. */
function documented(command: string, id: string): string {
  expect(DOCUMENTED).toContain(command);
  return command.replaceAll('sweep-canary', id);
}

/** In a shell, as an operator would, against this installation. */
async function type(command: string): Promise<string> {
  const env = {
    PATH: `${dirname(findTemporalCli())}:${String(process.env['PATH'])}`,
    HOME: process.env['HOME'],
    TEMPORAL_ADDRESS: installation.temporalAddress,
    API: `${installation.url}/api/v1`,
    AUTH: `authorization: Bearer ${token}`,
  };
  const [call = ''] = /^call\(\) .*$/m.exec(DOCUMENTED) ?? [];
  const { stdout } = await promisify(execFile)('bash', ['-c', `set -e\n${call}\n${command}`], { env });
  return stdout;
}

const WAYS = {
  HTTP: {
    trigger: `call -X POST "$API/schedules/sweep-canary/trigger" -d '{"reason": "now"}'`,
    pause: `call -X POST "$API/schedules/sweep-canary/pause" -d '{"reason": "looking"}'`,
    resume: `call -X POST "$API/schedules/sweep-canary/resume" -d '{}'`,
  },
  'the temporal CLI': {
    trigger: 'temporal schedule trigger --schedule-id sweep-canary --overlap-policy Skip',
    pause: 'temporal schedule toggle --schedule-id sweep-canary --pause --reason "looking"',
    resume: 'temporal schedule toggle --schedule-id sweep-canary --unpause --reason "done"',
  },
} as const;

describe('every schedule', () => {
  it('is listed over HTTP and with the temporal CLI', async () => {
    const overHttp = JSON.parse(await type(documented('call "$API/schedules"', ''))) as { schedules: Seen[] };
    expect(overHttp.schedules.map(({ id }) => id).sort()).toEqual(SCHEDULES.map(({ id }) => id).sort());
    // Temporal's list lags a little behind.
    await until('all are listed', async () => {
      const listed = await type(documented('temporal schedule list', ''));
      return IDS.every((id) => listed.includes(id));
    });
    for (const id of IDS) {
      expect(await type(documented('temporal schedule describe --schedule-id sweep-canary', id))).toContain(id);
    }
  });

  it.each(Object.entries(WAYS).flatMap(([way, commands]) => IDS.map((id) => ({ way, id, commands }))))(
    'is triggered, paused and resumed over $way: $id',
    async ({ id, commands }) => {
      const before = await runsOf(id);
      await type(documented(commands.trigger, id));
      await until('its run is written down', async () => (await runsOf(id)) > before);
      await type(documented(commands.pause, id));
      await until('it is paused', () => isPaused(id));
      await type(documented(commands.resume, id));
      await until('it goes on', async () => (await isPaused(id)) === false);
    },
    120_000,
  );
});
