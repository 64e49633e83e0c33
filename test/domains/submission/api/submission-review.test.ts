import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { saveJudgement } from '../../../../src/domains/submission/db/submissions.js';
import { submission } from '../../../../src/domains/submission/table.js';
import { itemOf, movesOf } from '../../../support/facts.js';
import { fetched, skillOf } from '../support/skills.js';
import { byHand } from '../../../support/spine.js';
import { JUDGEMENT } from '../support/submission-ends.js';
import { ADMIN, ALICE, REVIEWER, type TestApi, VIEWER, type Who } from '../../../api/setup.js';
import { openSubmissionApi } from '../support/api.js';

let api: TestApi;
beforeAll(async () => {
  api = await openSubmissionApi();
});
afterAll(() => api.close());

let last = 0;

/** Fetched, scanned and judged; a person decides. */
async function inReview(): Promise<string> {
  const { pool } = api.database;
  last += 1;
  const repoUrl = `https://github.com/review/skills-${String(last)}`;
  const id = await fetched(pool, { repoUrl, skillName: `tidy-${String(last)}` }, skillOf(`# Use\nWay ${repoUrl}.`));
  const hand = byHand(pool, submission);
  await hand.walk(id, 'checkVendor:other', 'fetch', 'scanTier1:pass');
  const save = saveJudgement(id, 'rules-v1', { ...JUDGEMENT, score: 70 });
  await hand.commit(await hand.claimed(id, { stage: 'judgeTier2' }), { is: 'done', outcome: 'concerns', save });
  return id;
}

function act(
  id: string,
  action: string,
  { as = REVIEWER, body = {}, key }: { as?: Who; body?: object; key?: string } = {},
) {
  const headers = key === undefined ? {} : { 'idempotency-key': key };
  return api.call({ method: 'POST', url: `/api/v1/admin/submissions/${id}/${action}`, as, payload: body, headers });
}

async function lastEntries(id: string, count: number): Promise<unknown[]> {
  const { rows } = await api.database.pool.query<object>(
    `SELECT trigger, actor, actor_type AS "actorType", metadata FROM audit WHERE item_id = $1 ORDER BY id DESC LIMIT $2`,
    [id, count],
  );
  return rows.reverse();
}

async function versionsBy(id: string): Promise<unknown[]> {
  const { rows } = await api.database.pool.query<object>(
    'SELECT version, tier, method FROM skill_versions WHERE submission_id = $1',
    [id],
  );
  return rows;
}

describe('a submission in NEEDS_REVIEW', () => {
  it('is escalated by a reviewer, and then approved: published with the same commit that moves it', async () => {
    const id = await inReview();
    const item = await api.call({ url: `/api/v1/items/${id}`, as: REVIEWER });
    expect(item.json()).toMatchObject({ decision: { awaits: 'reviewer', outcomes: ['escalate', 'reject'] } });

    expect((await act(id, 'escalate')).json()).toMatchObject({ state: 'TIER3_REVIEW', published: null });
    const approved = await act(id, 'approve', { body: { reason: 'well written' } });

    expect(approved.json()).toMatchObject({ state: 'PUBLISHED', published: { version: '1.0.0' }, why: null });
    expect(await versionsBy(id)).toEqual([{ version: '1.0.0', tier: 'tier3', method: 'review' }]);
    expect(await lastEntries(id, 2)).toMatchObject([
      { trigger: 'admin-escalate', actor: 'rita', actorType: 'reviewer' },
      { trigger: 'review-approve', actor: 'rita', metadata: { version: '1.0.0', reason: 'well written' } },
    ]);
    expect(api.engine.woken.map(({ itemId }) => itemId)).toContain(id);
  });

  it('is escalated and approved in one call, with two entries; sent again under its key, that changes nothing', async () => {
    const id = await inReview();

    const first = await act(id, 'approve', { key: 'approve-1' });
    const again = await act(id, 'approve', { key: 'approve-1' });

    expect([first.statusCode, again.statusCode]).toEqual([200, 200]);
    expect(again.json()).toMatchObject({ state: 'PUBLISHED' });
    expect((await movesOf(api.database.pool, id)).slice(-2)).toEqual([
      'NEEDS_REVIEW>TIER3_REVIEW',
      'TIER3_REVIEW>PUBLISHED',
    ]);
    expect(await versionsBy(id)).toHaveLength(1);
  });

  it('is rejected with a reason, which its owner is told, and not without one', async () => {
    const id = await inReview();

    const bare = await act(id, 'reject');
    expect(bare.statusCode).toBe(400);
    expect(bare.json()).toMatchObject({ errors: [{ path: 'reason' }] });
    const rejected = await act(id, 'reject', { body: { reason: 'It deletes too much.' } });

    expect(rejected.json()).toMatchObject({
      state: 'REJECTED',
      why: { summary: 'A reviewer rejected it.', reasons: [{ why: 'It deletes too much.' }] },
    });
    expect(await lastEntries(id, 1)).toMatchObject([{ trigger: 'admin-reject' }]);
  });

  it('is published by the generic decision too: no way around it', async () => {
    const id = await inReview();
    const decide = (outcome: string) =>
      api.call({ method: 'POST', url: `/api/v1/items/${id}/decisions`, as: ADMIN, payload: { outcome } });

    await decide('escalate');
    expect((await decide('approve')).json()).toMatchObject({ state: 'PUBLISHED' });

    expect(await versionsBy(id)).toHaveLength(1);
  });

  it.each([
    ['NEEDS_REVIEW', []],
    ['TIER3_REVIEW', ['escalate']],
  ] as const)('is not rejected in %s without a reason by the generic decision either', async (state, first) => {
    const id = await inReview();
    for (const action of first) await act(id, action);
    const decide = (payload: object) =>
      api.call({ method: 'POST', url: `/api/v1/items/${id}/decisions`, as: REVIEWER, payload });

    for (const given of [{}, { reason: '  ' }]) {
      const bare = await decide({ outcome: 'reject', ...given });
      expect(bare.statusCode).toBe(400);
      expect(bare.json()).toMatchObject({
        code: 'reason_needed',
        detail: `'reject' in ${state} needs a reason; send it as reason`,
        errors: [{ path: 'reason' }],
      });
    }
    expect((await itemOf(api.database.pool, id)).state).toBe(state);
    const rejected = await decide({ outcome: 'reject', reason: 'It deletes too much.' });
    expect(rejected.json()).toMatchObject({ state: 'REJECTED' });
  });

  it('is decided by nobody else', async () => {
    const id = await inReview();
    for (const as of [ALICE, VIEWER]) expect((await act(id, 'approve', { as })).statusCode).toBe(403);
    expect((await itemOf(api.database.pool, id)).state).toBe('NEEDS_REVIEW');
  });

  it.each([
    ['NEEDS_REVIEW', []],
    ['TIER3_REVIEW', ['escalate']],
  ] as const)('stays unpublished, undecided and in %s when publishing fails', async (state, first) => {
    const id = await inReview();
    for (const action of first) await act(id, action);
    const before = await lastEntries(id, 100);
    await api.database.pool.query(
      'ALTER TABLE skill_versions ADD CONSTRAINT refuse CHECK (submission_id <> $1)'.replace('$1', `'${id}'`),
    );

    const refused = await act(id, 'approve').finally(() =>
      api.database.pool.query('ALTER TABLE skill_versions DROP CONSTRAINT refuse'),
    );

    expect(refused.statusCode).toBe(500);
    expect((await itemOf(api.database.pool, id)).state).toBe(state);
    expect(await lastEntries(id, 100)).toEqual(before);
    expect((await act(id, 'approve')).json()).toMatchObject({ state: 'PUBLISHED' });
  });
});

describe('what an older version has kept of a submission', () => {
  it('is not shown where this one cannot read it, and fails no answer', async () => {
    const { pool } = api.database;
    const id = await inReview();
    await act(id, 'reject', { body: { reason: 'no' } });
    await pool.query(
      `UPDATE submissions SET tier1 = '{"findings": [{"id": "x"}]}', tier2 = '{"score": 70, "limits": [{}], "concerns": [{}]}' WHERE id = $1`,
      [id],
    );

    for (const trigger of ['review-reject', 'tier1-fail', 'tier2-fail']) {
      await pool.query(`ALTER TABLE audit DISABLE TRIGGER ALL`);
      await pool.query(`UPDATE audit SET trigger = $2 WHERE item_id = $1 AND to_state = 'REJECTED'`, [id, trigger]);
      await pool.query(`ALTER TABLE audit ENABLE TRIGGER ALL`);
      const shown = await api.call({ url: `/api/v1/submissions/${id}`, as: REVIEWER });
      expect([trigger, shown.statusCode]).toEqual([trigger, 200]);
      expect(shown.json()).toMatchObject({ scan: null, judgement: null, state: 'REJECTED' });
    }
  });
});

describe('a decision at the wrong time', () => {
  it('says where it could be made, and where the submission is', async () => {
    const id = await inReview();
    await act(id, 'escalate');

    const late = await act(id, 'escalate');
    expect(late.statusCode).toBe(409);
    expect(late.json<{ detail: string }>().detail).toMatch(
      /^only a submission in NEEDS_REVIEW can be answered with escalate/,
    );
    await act(id, 'reject', { body: { reason: 'no' } });
    const tooLate = await act(id, 'approve');
    expect(tooLate.statusCode).toBe(409);
    expect(tooLate.json()).toMatchObject({ code: 'state_conflict', state: 'REJECTED' });
    expect(await lastEntries(id, 1)).toMatchObject([{ trigger: 'review-reject' }]);
  });

  it('is answered not found for an item of another pipeline', async () => {
    const canary = await api.call({ method: 'POST', url: '/api/v1/canaries', as: ADMIN, payload: {} });
    expect((await act(canary.json<{ id: string }>().id, 'approve')).statusCode).toBe(404);
  });
});

describe('an admin', () => {
  it('retries no submission that has ended, and is told what to submit again', async () => {
    const id = await inReview();
    await act(id, 'reject', { body: { reason: 'no' } });
    await api.database.pool.query(`UPDATE submissions SET skill_path = '' WHERE id = $1`, [id]);

    const refused = await act(id, 'retry', { as: ADMIN });

    expect(refused.statusCode).toBe(409);
    expect(refused.json()).toMatchObject({
      detail: expect.stringContaining('POST /api/v1/submissions') as string,
      submitAgain: { repoUrl: `https://github.com/review/skills-${String(last)}`, skillName: `tidy-${String(last)}` },
    });
    const { submitAgain } = refused.json<{ submitAgain: object }>();
    const again = await api.call({ method: 'POST', url: '/api/v1/submissions', as: ADMIN, payload: submitAgain });
    expect(again.statusCode, again.body).toBe(202);
    expect((await act(id, 'retry')).statusCode).toBe(403);
  });

  it('retries one that has stopped, and not one that waits for a person', async () => {
    const waiting = await act(await inReview(), 'retry', { as: ADMIN });
    expect(waiting.json()).toMatchObject({ code: 'still_alive', diagnosis: { reason: 'awaiting_decision' } });

    const id = await fetched(api.database.pool, { skillName: 'stopped' }, skillOf('Stopped.'));
    await api.database.pool.query(
      `UPDATE items SET started = true, run_ended_at = now() - interval '1 second' WHERE id = $1`,
      [id],
    );
    expect((await act(id, 'retry', { as: ADMIN, body: { reason: 'go on' } })).json()).toMatchObject({ epoch: 2 });
  });

  it('gives a submission another priority, once it is known who did and why', async () => {
    const id = await inReview();

    const response = await act(id, 'reprioritize', { as: ADMIN, body: { priority: 7, reason: 'urgent' } });

    expect(response.json()).toMatchObject({ priority: 7, state: 'NEEDS_REVIEW' });
    expect(await lastEntries(id, 1)).toMatchObject([
      { trigger: 'reprioritized', actor: 'adam', metadata: { priority: 7, reason: 'urgent' } },
    ]);
    expect((await act(id, 'reprioritize', { as: ADMIN, body: { priority: 'high' } })).statusCode).toBe(400);
    await act(id, 'reject', { body: { reason: 'no' } });
    expect((await act(id, 'reprioritize', { as: ADMIN, body: { priority: 8 } })).statusCode).toBe(409);
  });
});
