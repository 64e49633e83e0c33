import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Mail, type MailServer, startMailServer, textOf } from '../../../adapters/mail-server.js';
import { attemptsOf, itemOf, trailFaults } from '../../../support/facts.js';
import { type Installation, type PartName, startInstallation } from '../../../support/installation.js';
import { commitNothing, HARMLESS, HOSTILE, repositoryIn } from '../support/skill-repository.js';
import { until } from '../../../support/until.js';
import { type Caller, callerOf } from '../../../e2e/caller.js';
import { submitterOf } from './submitter.js';

const EMAIL = 'ada@example.org';

let mailServer: MailServer;
let installation: Installation;
let ada: Caller;
let repositories: string;
beforeAll(async () => {
  repositories = mkdtempSync(join(tmpdir(), 'unstuck-skills-'));
  mailServer = await startMailServer();
  installation = await startInstallation({
    SUBMISSION_ALLOW_LOCAL: 'true',
    JUDGE_RULES_MAY_APPROVE: 'true',
    SMTP_URL: `smtp://127.0.0.1:${String(mailServer.port)}`,
    SMTP_FROM: 'unstuck@example.com',
    PUBLIC_URL: 'https://unstuck.example.com',
  });
  const token: Installation['token'] = (subject, roles) => installation.token(subject, roles, EMAIL);
  ada = await callerOf({ ...installation, token }, 'ada');
}, 180_000);
afterAll(async () => {
  await installation.stop();
  await mailServer.close();
  rmSync(repositories, { recursive: true, force: true });
});

function repositoryOf(name: string, files: Readonly<Record<string, string>>): string {
  return repositoryIn(join(repositories, name), files);
}

async function submit(repoUrl: string): Promise<string> {
  return submitterOf(ada).submit({ repoUrl, skillName: 'tidy-notes' });
}

function ended(id: string): Promise<Record<string, unknown>> {
  return submitterOf(ada).settled(id);
}

/** Kills the worker that is at the submission, in the middle: its row is locked, so that no stage can end meanwhile. */
async function killItsWorker(id: string): Promise<void> {
  await until('it is past its first stage', async () => (await itemOf(installation.pool, id)).state !== 'RECEIVED');
  const client = await installation.pool.connect();
  try {
    await client.query('BEGIN');
    await client.query('SELECT 1 FROM submissions WHERE id = $1 FOR UPDATE', [id]);
    const worker = await until('a worker is at it', async () => {
      const { rows } = await installation.pool.query<{ name: PartName }>(
        `SELECT w.name FROM tasks t JOIN workers w ON w.id = t.worker WHERE t.item_id = $1 AND t.status = 'running'`,
        [id],
      );
      return rows[0]?.name ?? null;
    });
    await installation.backFrom(worker, await installation.kill(worker));
  } finally {
    await client.query('ROLLBACK');
    client.release();
  }
}

describe('a skill that is submitted', () => {
  it('is scanned, judged and published as 1.0.0 if it is harmless; the same content again is no new version', async () => {
    const folder = repositoryOf('harmless', { 'tidy-notes/SKILL.md': HARMLESS });
    const id = await submit(folder);

    const body = await ended(id);

    expect(body).toMatchObject({
      state: 'PUBLISHED',
      scan: { verdict: 'pass' },
      judgement: { model: 'rules-v1' },
      published: { name: 'tidy-notes', version: '1.0.0' },
      commit: expect.stringMatching(/^[0-9a-f]{40}$/) as string,
      history: [
        { toState: 'RECEIVED', trigger: 'api-submission', actor: 'system' },
        { toState: 'TIER1_SCANNING', trigger: 'non-vendor-submission', actor: 'system' },
        { toState: 'TIER2_SCANNING', trigger: 'tier1-pass', actor: 'worker' },
        { toState: 'AUTO_APPROVED', trigger: 'tier2-pass', actor: 'worker' },
        { toState: 'PUBLISHED', trigger: 'publish-complete', actor: 'system', metadata: { version: '1.0.0' } },
      ],
      stageTimings: ['checkVendor', 'fetch', 'scanTier1', 'judgeTier2', 'publish'].map((stage) => ({
        stage,
        result: 'done',
      })),
    });
    expect(await ada.post('/api/v1/submissions', { repoUrl: folder, skillName: 'tidy-notes' })).toMatchObject({
      status: 200,
      body: { id, alreadyVerified: true },
    });
    commitNothing(folder);
    const again = await ended(await submit(folder));
    expect(again).toMatchObject({ state: 'PUBLISHED', published: { version: '1.0.0' } });
    expect(again['history']).toMatchObject({ 4: { metadata: { version: '1.0.0', unchanged: true } } });
    const verified = await ada.post('/api/v1/submissions', {
      ...{ repoUrl: folder, skillName: 'tidy-notes', ref: body['commit'] },
    });
    expect(verified).toMatchObject({ status: 200, body: { alreadyVerified: true, state: 'PUBLISHED' } });
  }, 200_000);

  it('fails the scan, with file and line, if it pipes a download into a shell, and its verdict is mailed', async () => {
    const id = await submit(repositoryOf('hostile', { 'tidy-notes/SKILL.md': HOSTILE }));

    const body = await ended(id);

    expect(body).toMatchObject({
      state: 'TIER1_FAILED',
      scan: { verdict: 'fail' },
      judgement: null,
      published: null,
      why: { summary: 'The scan found 1 thing that no published skill may hold.' },
      nextAction: 'Put this right and submit the skill again.',
    });
    const line = HOSTILE.split('\n').findIndex((each) => each.includes('| sh')) + 1;
    expect((body['scan'] as { findings: unknown[] }).findings).toContainEqual(
      expect.objectContaining({ file: 'SKILL.md', line, severity: 'high', remedy: expect.any(String) as string }),
    );
    const isVerdict = (mail: Mail) => textOf(mail).includes('tidy-notes was not published');
    const mail = await until('the mail is there', () => mailServer.mails.find(isVerdict) ?? null);
    expect(mail).toMatchObject({ from: 'unstuck@example.com', to: [EMAIL] });
    expect(textOf(mail)).toContain(`Where: SKILL.md, line ${String(line)}`);
    expect(textOf(mail)).toContain('https://unstuck.example.com/api/v1/status/');
  }, 120_000);

  it('says what is wrong with an address that leads nowhere', async () => {
    const id = await submit(join(repositories, 'nothing-here'));
    expect(await ended(id)).toMatchObject({
      state: 'TIER1_FAILED',
      error: { stage: 'fetch', message: expect.stringMatching(/^repoUrl /) as string },
      history: expect.arrayContaining([expect.objectContaining({ trigger: 'fetch-failed' })]) as unknown[],
    });
  }, 120_000);

  it('waits for a person if it asks for much, and is published when a reviewer approves', async () => {
    const text = HARMLESS.replace('It runs no commands', 'It runs `chmod +x` on it');
    const id = await submit(repositoryOf('powerful', { 'tidy-notes/SKILL.md': text }));
    expect(await ended(id)).toMatchObject({
      state: 'NEEDS_REVIEW',
      judgement: { privileges: [{ kind: 'elevation' }] },
    });

    const rita = await callerOf(installation, 'rita', ['reviewer']);
    const { status, body } = await rita.post(`/api/v1/admin/submissions/${id}/approve`, { reason: 'it needs to' });

    expect({ status, body }).toMatchObject({
      status: 200,
      body: { state: 'PUBLISHED', published: { version: '1.0.0' } },
    });
    await until('its run has ended', async () => (await itemOf(installation.pool, id)).wakeAfter === null);
    expect(await trailFaults(installation.pool, id)).toEqual([]);
  }, 120_000);

  it('is published once, whatever becomes of the worker that is at it', async () => {
    // Large, so that it can be met at work.
    const page = 'Sort the sections by their headings and ask before anything is written.\n'.repeat(1_000);
    const files = { 'tidy-notes/SKILL.md': HARMLESS, 'tidy-notes/one.md': page, 'tidy-notes/two.md': page };
    const id = await submit(repositoryOf('large', files));
    await killItsWorker(id);

    expect(await ended(id)).toMatchObject({ state: 'PUBLISHED', published: { version: '1.0.0' } });

    expect(await trailFaults(installation.pool, id)).toEqual([]);
    expect(await itemOf(installation.pool, id)).toMatchObject({ rescues: 0, epoch: 1 });
    const attempts = await attemptsOf(installation.pool, id);
    expect(attempts.filter((attempt) => attempt.endsWith(' crash'))).toHaveLength(1);
    expect(attempts.filter((attempt) => attempt.endsWith(' done'))).toEqual([
      'checkVendor done',
      'fetch done',
      'scanTier1 done',
      'judgeTier2 done',
      'publish done',
    ]);
    const { rows } = await installation.pool.query('SELECT version FROM skill_versions WHERE submission_id = $1', [id]);
    expect(rows).toEqual([{ version: '1.0.0' }]);
  }, 200_000);
});
