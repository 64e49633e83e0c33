import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { findTemporalCli } from '../../../../scripts/find-temporal-cli.mjs';
import { type Parts, startParts } from '../../../start/parts.js';
import { until } from '../../../support/until.js';

/** The servers that discovery and enrichment ask are away, which the executions say. */
const SETTINGS = {
  ...{ STATS_EVERY: '1h', DISCOVER_NPM_KEYWORD: 'skill', ENRICH_SKILLS: 'true', SOURCES_ALLOW_PRIVATE: 'true' },
  ...{ NPM_REGISTRY_URL: 'http://127.0.0.1:1', GITHUB_API_URL: 'http://127.0.0.1:1' },
};

const JOBS = ['stats-refresh', 'discover-npm', 'enrich-skills'];

let parts: Parts;
beforeAll(async () => {
  parts = await startParts({ workers: 1, told: SETTINGS });
  await until('every schedule is there', async () => {
    const states = await Promise.all(JOBS.map(isPaused));
    return states.every((isPausedNow) => isPausedNow === false);
  });
}, 120_000);
afterAll(() => parts.stop());

/** Undefined: Temporal has no such schedule. */
function isPaused(id: string): Promise<boolean | undefined> {
  const described = parts.client.schedule.getHandle(id).describe();
  return described.then(
    ({ state }) => state.paused,
    () => undefined,
  );
}

async function runsOf(job: string): Promise<number> {
  const { rows } = await parts.pool.query<{ runs: number }>(
    `SELECT COALESCE(sum(runs), 0)::int AS runs FROM job_executions WHERE job = $1 AND status = 'completed'`,
    [job],
  );
  return rows[0]?.runs ?? 0;
}

async function overHttp(id: string, action: 'trigger' | 'pause' | 'resume'): Promise<void> {
  const url = `${parts.url}/api/v1/schedules/${id}/${action}`;
  const response = await fetch(url, { method: 'POST', headers: { authorization: `Bearer ${parts.token}` } });
  expect(response.status).toBe(200);
}

const FLAGS = {
  trigger: ['trigger', '--overlap-policy', 'Skip'],
  pause: ['toggle', '--pause', '--reason', 'looking'],
  resume: ['toggle', '--unpause', '--reason', 'done'],
};

async function withCli(id: string, action: keyof typeof FLAGS): Promise<void> {
  const { TEMPORAL_ADDRESS = '', TEMPORAL_NAMESPACE = '' } = parts.settings;
  const where = ['--address', TEMPORAL_ADDRESS, '--namespace', TEMPORAL_NAMESPACE, '--schedule-id', id];
  await promisify(execFile)(findTemporalCli(), ['schedule', ...FLAGS[action], ...where]);
}

it.each(
  Object.entries({ HTTP: overHttp, 'the temporal CLI': withCli }).flatMap(([way, ask]) =>
    JOBS.map((id) => ({ way, id, ask })),
  ),
)(
  'is triggered, paused and resumed over $way: $id',
  async ({ id, ask }) => {
    const before = await runsOf(id);
    await ask(id, 'trigger');
    await until('its run is written down', async () => (await runsOf(id)) > before);
    await ask(id, 'pause');
    await until('it is paused', () => isPaused(id));
    await ask(id, 'resume');
    await until('it goes on', async () => (await isPaused(id)) === false);
  },
  120_000,
);
