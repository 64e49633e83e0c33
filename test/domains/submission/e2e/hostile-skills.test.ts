import { existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type GitServer, startGitServer } from '../adapters/git/git-server.js';
import { handMadeRepository } from '../adapters/git/repository.js';
import { processesIn } from '../adapters/git/workshop.js';
import { type Installation, startInstallation } from '../../../support/installation.js';
import { peakMemoryOf } from '../../../support/memory.js';
import { HARMLESS } from '../support/skill-repository.js';
import { type Caller, callerOf } from '../../../e2e/caller.js';
import { commitHostile, HOSTILE_SERVERS, hostileSkills, serveHostile } from './hostile-skills.js';
import { type Submitter, submitterOf } from './submitter.js';

/** So that a server that trickles is given up, twice, while the others are at work; and yet a busy machine fetches in it. */
const FETCH_TIMEOUT_MS = 15_000;

/** A worker reads 500 KB of a skill at most, several at a time; with what it warms up it grows by some 30 MB. Any one of the
 *  bombs, read, unpacked or parsed, takes more than this. */
const MOST_GROWN_BYTES = 128 * 1_024 * 1_024;

const WORKERS = ['worker-1', 'worker-2'] as const;

const root = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-hostile-')));
const mark = join(root, 'somebody-ran-it');
const scratch = join(root, 'scratch');
const SKILLS = Object.entries(hostileSkills(mark));
const SERVERS = Object.entries(HOSTILE_SERVERS);

let server: GitServer;
let installation: Installation;
let ada: Caller;
let submitter: Submitter;
let before: { pid: number; bytes: number }[];
/** Ids by the name of the repository. All are sent at once, as somebody would who wants to bring the installation down. */
const sent = new Map<string, string>();

beforeAll(async () => {
  const served = join(root, 'served');
  mkdirSync(scratch);
  for (const [at, [, hostile]] of SKILLS.entries()) {
    commitHostile(handMadeRepository(join(served, 'acme', `hostile-${String(at)}`)), hostile);
  }
  const harmless = handMadeRepository(join(served, 'acme', 'harmless'));
  harmless.commit(harmless.folderOf({ 'tidy-notes/SKILL.md': HARMLESS }));
  server = await startGitServer(served);
  serveHostile(server);
  installation = await startInstallation({
    SUBMISSION_HOSTS: '127.0.0.1',
    SUBMISSION_ALLOW_PRIVATE: 'true',
    JUDGE_RULES_MAY_APPROVE: 'true',
    SUBMISSION_TEMP_DIR: scratch,
    SUBMISSION_FETCH_TIMEOUT_MS: String(FETCH_TIMEOUT_MS),
  });
  ada = await callerOf(installation, 'ada');
  submitter = submitterOf(ada);
  before = WORKERS.map(workerNow);
  const names = [...SERVERS.map(([name]) => name), ...SKILLS.map((_, at) => `hostile-${String(at)}`)];
  for (const name of names) sent.set(name, await submitter.submit({ repoUrl: urlOf(name), skillName: 'greet' }));
}, 240_000);
afterAll(async () => {
  await installation.stop();
  await server.close();
  rmSync(root, { recursive: true, force: true });
});

function urlOf(name: string): string {
  return `${server.url}acme/${name}`;
}

function workerNow(name: (typeof WORKERS)[number]): { pid: number; bytes: number } {
  const pid = installation.pidOf(name);
  return { pid, bytes: peakMemoryOf(pid) };
}

/** One that failed says why, where and what to do, in words that hide nothing. */
async function expectFailed(name: string, at: object, why: RegExp): Promise<void> {
  const body = await submitter.settled(sent.get(name) ?? '');
  expect(body).toMatchObject({
    state: 'TIER1_FAILED',
    published: null,
    nextAction: expect.stringMatching(/\w/) as string,
  });
  const { reasons } = body['why'] as { reasons: { why: string; remedy: string }[] };
  expect(reasons).toContainEqual(
    expect.objectContaining({
      ...at,
      why: expect.stringMatching(why) as string,
      remedy: expect.stringMatching(/\w/) as string,
    }),
  );
  expect(JSON.stringify(reasons)).not.toMatch(/[\p{Cc}\p{Cf}]/u);
}

describe('a skill that is made to do harm fails, and its owner is told why:', () => {
  it.each(SKILLS.map(([what, hostile], at) => [what, { ...hostile, name: `hostile-${String(at)}` }] as const))(
    '%s',
    async (_, { name, at, why }) => {
      await expectFailed(name, at, why);
    },
    180_000,
  );

  it.each(SERVERS)(
    'one from a server that %s',
    async (name, { why }) => {
      const at = name === 'trickles' ? {} : { field: 'repoUrl' };
      await expectFailed(name, at, why);
    },
    180_000,
  );
});

describe('an address that leads out of the allowed is refused with 400, and the field is named:', () => {
  it.each([
    ['skillPath', { skillPath: '../../etc' }],
    ['skillPath', { skillPath: '/etc' }],
    ['skillPath', { skillPath: 'greet/../../etc' }],
    ['repoUrl', { repoUrl: 'file:///etc/passwd' }],
    ['repoUrl', { repoUrl: '/etc' }],
    ['repoUrl', { repoUrl: 'ext::sh -c true' }],
    ['repoUrl', { repoUrl: 'ssh://git@127.0.0.1/acme/x' }],
    ['repoUrl', { repoUrl: '--upload-pack=true' }],
    ['repoUrl', { repoUrl: 'https://169.254.169.254/latest/meta-data' }],
    ['repoUrl', { repoUrl: 'https://10.0.0.1/acme/x' }],
    ['ref', { ref: '--upload-pack=true' }],
  ])('%s %j', async (field, given) => {
    const asked = { repoUrl: urlOf('harmless'), skillName: 'greet', ...given };

    const { status, body } = await ada.post('/api/v1/submissions', asked);

    expect(status).toBe(400);
    expect(body['errors']).toContainEqual(expect.objectContaining({ path: field }));
  });
});

describe('after all of it', () => {
  it('the same two workers are alive, small, and have left nothing behind', async () => {
    await Promise.all([...sent.values()].map((id) => submitter.settled(id)));

    const now = WORKERS.map(workerNow);
    expect(now.map(({ pid }) => pid)).toEqual(before.map(({ pid }) => pid));
    for (const [at, { bytes }] of now.entries()) {
      expect(bytes - (before[at]?.bytes ?? 0)).toBeLessThan(MOST_GROWN_BYTES);
    }
    expect(existsSync(mark)).toBe(false);
    expect(readdirSync(scratch)).toEqual([]);
    expect(processesIn(scratch)).toEqual([]);
    const { rows } = await installation.pool.query(
      `SELECT stage, result FROM attempts WHERE result NOT IN ('done', 'error')`,
    );
    expect(rows).toEqual([]);
  }, 180_000);

  it('a harmless skill is published', async () => {
    const id = await submitter.submit({ repoUrl: urlOf('harmless'), skillName: 'tidy-notes' });

    expect(await submitter.settled(id)).toMatchObject({ state: 'PUBLISHED', published: { version: '1.0.0' } });
  }, 180_000);
});
