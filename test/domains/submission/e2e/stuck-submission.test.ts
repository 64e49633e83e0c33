import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { trailFaults } from '../../../support/facts.js';
import { type Installation, startInstallation } from '../../../support/installation.js';
import { layRepository } from '../support/many-skills.js';
import { until } from '../../../support/until.js';
import { type Answer, type Caller, callerOf } from '../../../e2e/caller.js';
import { type MoodyJudge, startMoodyJudge } from './moody-judge.js';

/** All of it as by default, only in seconds: nothing but the waits is shorter. */
const TIMES = {
  SUBMISSION_SWEEP_EVERY: '3s',
  SUBMISSION_BEATS: '5s',
  SUBMISSION_STALE_AFTER: '4s',
  // Long enough after the warning that a busy machine sees that before the first rescue.
  SUBMISSION_STUCK_AFTER: '12s',
  SUBMISSION_RESCUE_BACKOFF: '2s,3s,4s',
};

/** A judge that is away for one skill alone is no storm: the breaker, which would hold it, has its own proof. */
const NO_BREAKER = { BREAKER_FAILURES: '1000', BREAKER_SAMPLE: '1000' };

/** Four runs of three tries, fifteen seconds each, and a sweep after each; a busy machine takes several times as long. */
const ENDED_WITHIN_MS = 300_000;

let judge: MoodyJudge;
let installation: Installation;
let connection: Connection;
let ada: Caller;
let repositories: string;
beforeAll(async () => {
  repositories = mkdtempSync(join(tmpdir(), 'unstuck-skills-'));
  judge = await startMoodyJudge();
  installation = await startInstallation({
    ...{ ...TIMES, ...NO_BREAKER, SUBMISSION_ALLOW_LOCAL: 'true' },
    ...{ JUDGE_PROVIDER: 'openai-compatible', JUDGE_URL: judge.url, JUDGE_MODEL: 'moody' },
    JUDGE_TIMEOUT_MS: '110000',
  });
  connection = await Connection.connect({ address: installation.temporalAddress });
  ada = await callerOf(installation, 'ada');
}, 180_000);
afterAll(async () => {
  await connection.close();
  await installation.stop();
  await judge.close();
  rmSync(repositories, { recursive: true, force: true });
});

let submissions = 0;

/** Submits a skill of its own; the judge is told how to take it before it is shown it. */
async function submit(tell: (skillName: string) => void): Promise<{ id: string; skillName: string }> {
  submissions += 1;
  const skill = layRepository(repositories, 'harmless', 100 + submissions);
  tell(skill.skillName);
  const { status, body } = await ada.post('/api/v1/submissions', skill);
  expect(status).toBe(202);
  return { id: String(body['id']), skillName: skill.skillName };
}

interface Status extends Record<string, unknown> {
  state: string;
  live: boolean;
  epoch: number;
  decision: object | null;
  inflight: unknown[];
  staleness: { since: string } | null;
  rescue: { count: number; lastRetryAt: string | null; nextRetryAfter: string | null };
  history: { toState: string; trigger: string }[];
  stageTimings: { stage: string; result: string }[];
  receipts: { result: string }[];
}

async function statusOf(id: string): Promise<Status> {
  const { body }: Answer = await ada.get(`/api/v1/submissions/${id}`);
  return body as unknown as Status;
}

async function shown(what: string, id: string, isSo: (status: Status) => boolean): Promise<Status> {
  let seen: Status | undefined;
  async function look(): Promise<Status | null> {
    seen = await statusOf(id);
    return isSo(seen) ? seen : null;
  }
  return until(what, look, ENDED_WITHIN_MS).catch((cause: unknown) => {
    throw new Error(`it is ${JSON.stringify(seen)}`, { cause });
  });
}

/** The run of that number is at the judge, and is ended from outside, as somebody with the wrong button would. */
async function terminate(id: string, epoch: number): Promise<void> {
  const isAtWork = ({ state, inflight, epoch: now }: Status): boolean =>
    state === 'TIER2_SCANNING' && now === epoch && inflight.length > 0;
  await shown(`run ${String(epoch)} is at the judge`, id, isAtWork);
  const { workflow } = new Client({ connection });
  await workflow.getHandle(`submission:${id}:${String(epoch)}`).terminate('by a test');
}

function warned(id: string): Promise<Status> {
  return shown('its owner is warned', id, ({ staleness }) => staleness !== null);
}

function rescuesIn({ history }: Status): number {
  return history.filter(({ trigger }) => trigger === 'rescue').length;
}

function triesOf({ stageTimings }: Status, of: string, as: 'done' | 'error'): number {
  return stageTimings.filter(({ stage, result }) => stage === of && result === as).length;
}

describe.concurrent('a submission whose runs are ended again and again', () => {
  it('is warned of, rescued three times and then rejected, and its status says all of it', async () => {
    const { id } = await submit(judge.isSilentFor);
    await terminate(id, 1);

    const stale = await warned(id);
    expect(stale).toMatchObject({
      state: 'TIER2_SCANNING',
      staleness: { stale: true, since: expect.any(String) as string, message: expect.any(String) as string },
      rescue: { count: 0, lastRetryAt: null, nextRetryAfter: null },
    });
    const [{ silentMs } = { silentMs: 0 }] = (
      await installation.pool.query<{ silentMs: number }>(
        `SELECT extract(epoch FROM now() - $1::timestamptz)::float8 * 1000 AS "silentMs"`,
        [stale.staleness?.since],
      )
    ).rows;
    expect(silentMs).toBeGreaterThanOrEqual(4_000);

    for (const rescues of [1, 2, 3]) {
      const { rescue } = await shown(
        `rescue ${String(rescues)} is shown`,
        id,
        (status) => status.rescue.count === rescues,
      );
      const waitMs = Date.parse(rescue.nextRetryAfter ?? '') - Date.parse(rescue.lastRetryAt ?? '');
      expect(waitMs).toBe(1_000 * (rescues + 1));
      await terminate(id, rescues + 1);
    }
    const ended = await shown('it is over', id, ({ live }) => !live);

    expect(ended).toMatchObject({
      state: 'REJECTED',
      endReason: 'STUCK_EXHAUSTED',
      staleness: null,
      published: null,
      rescue: { count: 3 },
      why: { summary: expect.any(String) as string },
    });
    expect(rescuesIn(ended)).toBe(3);
    expect(ended.history.at(-1)).toMatchObject({ toState: 'REJECTED', trigger: 'stuck-exhausted', actor: 'system' });
    expect(ended.receipts.map(({ result }) => result)).toEqual(['exhausted', 'moving', 'moving', 'moving']);
    expect(await trailFaults(installation.pool, id)).toEqual([]);
  }, 400_000);

  it('is no longer warned of as soon as it moves again', async () => {
    const { id, skillName } = await submit(judge.isSilentFor);
    await terminate(id, 1);
    await warned(id);

    const moving = await shown('it moves', id, ({ epoch, inflight }) => epoch === 2 && inflight.length > 0);
    expect(moving).toMatchObject({ state: 'TIER2_SCANNING', staleness: null, rescue: { count: 1 } });
    judge.letSpeak(skillName);

    const ended = await shown('it is over', id, ({ live }) => !live);
    expect(ended).toMatchObject({ state: 'PUBLISHED', staleness: null, judgement: { model: 'moody' } });
    expect(triesOf(ended, 'fetch', 'done')).toBe(1);
  }, 400_000);
});

describe.concurrent('a submission whose judge stays away', () => {
  it('is rescued three times, and then a person is asked: an outage is not a verdict', async () => {
    const { id } = await submit(judge.isDownFor);

    const waiting = await shown('a person is asked', id, ({ decision, live }) => decision !== null || !live);

    expect(waiting).toMatchObject({
      state: 'NEEDS_REVIEW',
      live: true,
      judgement: null,
      staleness: null,
      error: { classification: 'LLM_ERROR', stage: 'judgeTier2' },
      // Spent where it stood: what comes after a person's decision has a budget of its own.
      rescue: { count: 0 },
      diagnosis: { reason: 'awaiting_decision' },
    });
    expect(waiting.history.at(-1)).toMatchObject({
      toState: 'NEEDS_REVIEW',
      trigger: 'judge-unavailable',
      actor: 'system',
    });
    expect(rescuesIn(waiting)).toBe(3);
    // Three tries of each of four runs.
    expect(triesOf(waiting, 'judgeTier2', 'error')).toBe(12);
    expect(await trailFaults(installation.pool, id)).toEqual([]);
  }, 400_000);
});
