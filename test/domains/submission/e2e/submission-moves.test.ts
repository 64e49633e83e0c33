import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type GitServer, startGitServer } from '../adapters/git/git-server.js';
import { handMadeRepository } from '../adapters/git/repository.js';
import { trailFaults } from '../../../support/facts.js';
import { type Installation, startInstallation } from '../../../support/installation.js';
import { HARMLESS, HOSTILE } from '../support/skill-repository.js';
import { type Caller, callerOf } from '../../../e2e/caller.js';
import { type ScriptedJudge, startScriptedJudge } from './scripted-judge.js';
import { type Submitter, submitterOf } from './submitter.js';

/** The table of the specification, as it stands there. */
const THIRTEEN = [
  'RECEIVED > VENDOR_APPROVED',
  'RECEIVED > TIER1_SCANNING',
  'TIER1_SCANNING > TIER2_SCANNING',
  'TIER1_SCANNING > TIER1_FAILED',
  'TIER2_SCANNING > AUTO_APPROVED',
  'TIER2_SCANNING > NEEDS_REVIEW',
  'TIER2_SCANNING > REJECTED',
  'NEEDS_REVIEW > TIER3_REVIEW',
  'NEEDS_REVIEW > REJECTED',
  'TIER3_REVIEW > PUBLISHED',
  'TIER3_REVIEW > REJECTED',
  'AUTO_APPROVED > PUBLISHED',
  'VENDOR_APPROVED > PUBLISHED',
];

const ID = /^[0-9a-f-]{36}$/;
const aNumber = expect.any(Number) as number;

type By = 'system' | 'worker' | 'root';

/** An entry in the shape of the specification's example. Those that a stage made say besides at which attempt. */
function entry(move: string, trigger: string, by: By, metadata: object = {}): object {
  const [from = '', to] = move.split(' > ');
  const isStages = from !== '' && by !== 'root';
  return {
    fromState: from === '' ? null : from,
    toState: to,
    trigger,
    actor: by,
    actorType: by === 'root' ? 'admin' : by,
    metadata: { ...metadata, ...(isStages && { attempt: aNumber }) },
    createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string,
  };
}

const RECEIVED = entry(' > RECEIVED', 'api-submission', 'system');
const SCANNING = entry('RECEIVED > TIER1_SCANNING', 'non-vendor-submission', 'system');
const SCANNED = entry('TIER1_SCANNING > TIER2_SCANNING', 'tier1-pass', 'worker', { findings: 0, duration_ms: aNumber });
const DOUBTED = entry('TIER2_SCANNING > NEEDS_REVIEW', 'tier2-concerns', 'worker', {
  ...{ score: 70, model: 'scripted', concerns: ['It could ask for less.'] },
});
const PUBLICATION = { version: '1.0.0', skillId: expect.stringMatching(ID) as string };

const REASON = 'It does more than it says.';

interface Walk {
  repository: 'acme/skills' | 'ada/skills';
  skillName: string;
  /** What an admin does where it waits. */
  decisions?: ['escalate' | 'approve' | 'reject', object][];
  trail: object[];
}

const WALKS: Readonly<Record<string, Walk>> = {
  'of a vendor': {
    ...{ repository: 'acme/skills', skillName: 'tidy-notes' },
    trail: [
      entry('RECEIVED > VENDOR_APPROVED', 'vendor-auto-verify', 'system', { org: 'acme' }),
      entry('VENDOR_APPROVED > PUBLISHED', 'publish-complete', 'system', PUBLICATION),
    ],
  },
  'that is in order': {
    ...{ repository: 'ada/skills', skillName: 'mark-10' },
    trail: [
      ...[SCANNING, SCANNED],
      entry('TIER2_SCANNING > AUTO_APPROVED', 'tier2-pass', 'worker', { score: 100, model: 'scripted' }),
      entry('AUTO_APPROVED > PUBLISHED', 'publish-complete', 'system', PUBLICATION),
    ],
  },
  'that the scan fails': {
    ...{ repository: 'ada/skills', skillName: 'hostile' },
    trail: [
      SCANNING,
      entry('TIER1_SCANNING > TIER1_FAILED', 'tier1-fail', 'worker', {
        findings: expect.arrayContaining([expect.objectContaining({ severity: 'high', file: 'SKILL.md' })]) as object,
        duration_ms: aNumber,
      }),
    ],
  },
  'that the judge refuses': {
    ...{ repository: 'ada/skills', skillName: 'mark-3' },
    trail: [
      ...[SCANNING, SCANNED],
      entry('TIER2_SCANNING > REJECTED', 'tier2-fail', 'worker', {
        ...{ score: 30, model: 'scripted', concerns: ['It could ask for less.'], needed: 60 },
      }),
    ],
  },
  'that an admin rejects': {
    ...{ repository: 'ada/skills', skillName: 'mark-7' },
    decisions: [['reject', { reason: REASON }]],
    trail: [
      ...[SCANNING, SCANNED, DOUBTED],
      entry('NEEDS_REVIEW > REJECTED', 'admin-reject', 'root', { reason: REASON }),
    ],
  },
  'that the judge cannot judge': {
    ...{ repository: 'ada/skills', skillName: 'declined' },
    decisions: [['approve', {}]],
    trail: [
      ...[SCANNING, SCANNED],
      entry('TIER2_SCANNING > NEEDS_REVIEW', 'judge-unavailable', 'worker', {
        reason: 'the judge answered 400: the skill is too long for this judge',
      }),
      entry('NEEDS_REVIEW > TIER3_REVIEW', 'admin-escalate', 'root'),
      entry('TIER3_REVIEW > PUBLISHED', 'review-approve', 'root', PUBLICATION),
    ],
  },
  'that is escalated and approved': {
    ...{ repository: 'ada/skills', skillName: 'mark-7-approved' },
    decisions: [
      ['escalate', {}],
      ['approve', {}],
    ],
    trail: [
      ...[SCANNING, SCANNED, DOUBTED],
      entry('NEEDS_REVIEW > TIER3_REVIEW', 'admin-escalate', 'root'),
      entry('TIER3_REVIEW > PUBLISHED', 'review-approve', 'root', PUBLICATION),
    ],
  },
  'that is escalated and rejected': {
    ...{ repository: 'ada/skills', skillName: 'mark-7-rejected' },
    decisions: [
      ['escalate', {}],
      ['reject', { reason: REASON }],
    ],
    trail: [
      ...[SCANNING, SCANNED, DOUBTED],
      entry('NEEDS_REVIEW > TIER3_REVIEW', 'admin-escalate', 'root'),
      entry('TIER3_REVIEW > REJECTED', 'review-reject', 'root', { reason: REASON }),
    ],
  },
};

const folder = mkdtempSync(join(tmpdir(), 'unstuck-moves-'));
let server: GitServer;
let judge: ScriptedJudge;
let installation: Installation;
let submitter: Submitter;
let root: Caller;
beforeAll(async () => {
  for (const repository of ['acme/skills', 'ada/skills']) {
    const names = Object.values(WALKS).flatMap((walk) => (walk.repository === repository ? [walk.skillName] : []));
    const made = handMadeRepository(join(folder, repository));
    made.commit(made.folderOf(Object.fromEntries(names.map((name) => [`${name}/SKILL.md`, textOf(name)]))));
  }
  server = await startGitServer(folder);
  judge = await startScriptedJudge();
  installation = await startInstallation({
    ...{ SUBMISSION_HOSTS: '127.0.0.1', SUBMISSION_ALLOW_PRIVATE: 'true', SUBMISSION_VENDORS: '127.0.0.1/acme' },
    ...judge.settings,
  });
  submitter = submitterOf(await callerOf(installation, 'ada'));
  root = await callerOf(installation, 'root', ['admin']);
}, 240_000);
afterAll(async () => {
  await installation.stop();
  await server.close();
  await judge.close();
  rmSync(folder, { recursive: true, force: true });
});

function textOf(name: string): string {
  return (name === 'hostile' ? HOSTILE : HARMLESS).replace('tidy-notes', name);
}

describe('a skill', () => {
  it.each(Object.entries(WALKS))(
    '%s leaves a trail as in the specification',
    async (_, walk) => {
      const { repository, skillName, decisions = [], trail } = walk;
      const id = await submitter.submit({ repoUrl: `${server.url}${repository}`, skillName });
      for (const [action, body] of decisions) {
        await submitter.settled(id);
        const { status } = await root.post(`/api/v1/admin/submissions/${id}/${action}`, body);
        expect(status).toBe(200);
      }

      const { history } = await submitter.settled(id);

      expect(history).toEqual([RECEIVED, ...trail]);
      expect(await trailFaults(installation.pool, id)).toEqual([]);
    },
    180_000,
  );

  it('has made each of the thirteen moves, and no other', async () => {
    const { rows } = await installation.pool.query<{ move: string }>(
      `SELECT DISTINCT from_state || ' > ' || to_state AS move FROM audit WHERE from_state IS NOT NULL`,
    );

    expect(rows.map(({ move }) => move).toSorted()).toEqual(THIRTEEN.toSorted());
  });
});
