import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createStatusLinks } from '../../../../src/api/items/status-links.js';
import { inTransaction } from '../../../../src/db/postgres/client.js';
import { STATUS_LINKS } from '../../../../src/domains/submission/api/status-links.js';
import { addSubmissionRoutes } from '../../../../src/domains/submission/api/submissions.js';
import { keepContent } from '../../../../src/domains/submission/db/skill-contents.js';
import { DEFAULT_SLA } from '../../../../src/domains/submission/core/sla.js';
import type { SkillAddress } from '../../../../src/domains/submission/ports/skill.js';
import { submission } from '../../../../src/domains/submission/table.js';
import { ALICE, BOB, openApi, SECRET, type TestApi } from '../../../api/setup.js';
import { byHand } from '../../../support/spine.js';
import { claimPublishing, commitPublishing } from '../support/publishing.js';
import { skillOf, submitted } from '../support/skills.js';

/** The commit that each branch has now. A branch without one gives no answer. */
const heads = new Map<string, string>();
const asked: SkillAddress[] = [];

let api: TestApi;
beforeAll(async () => {
  const headOf = (address: SkillAddress) => {
    asked.push(address);
    return Promise.resolve(heads.get(address.repoUrl) ?? null);
  };
  const rules = { address: { hosts: ['github.com'], allowPrivate: false, allowLocal: false }, vendors: [] };
  const links = createStatusLinks({ secret: SECRET, publicUrl: undefined }, STATUS_LINKS);
  api = await openApi({
    domainRoutes: [
      (app, parts) => {
        addSubmissionRoutes(app, {
          ...{ ...parts, links, submission: rules, sendsMail: false, heads: { headOf } },
          sla: DEFAULT_SLA,
        });
      },
    ],
  });
});
afterAll(() => api.close());

function commitOf(letter: string): string {
  return letter.repeat(40);
}

/** Publishes the skill `tidy` of a repository from a commit, as the pipeline does. */
async function publish(repoUrl: string, body: string, commit: string): Promise<string> {
  const { pool } = api.database;
  const id = await submitted(pool, { repoUrl });
  await inTransaction(pool, (transaction) => keepContent(transaction, id, { ...skillOf(body), commit }));
  await byHand(pool, submission).walk(id, 'checkVendor:other', 'fetch', 'scanTier1:pass', 'judgeTier2:pass');
  await commitPublishing(pool, await claimPublishing(pool, id, 'worker'));
  return id;
}

function submit(repoUrl: string, more: object = {}) {
  const payload = { repoUrl, skillName: 'tidy', ...more };
  return api.call({ method: 'POST', url: '/api/v1/submissions', as: { ...ALICE, sub: 'ada' }, payload });
}

describe('a published skill that is submitted again', () => {
  it('is already verified while its branch has the published commit, whatever branch that is', async () => {
    const repoUrl = 'https://github.com/acme/unmoved';
    const id = await publish(repoUrl, '# Use', commitOf('a'));
    heads.set(repoUrl, commitOf('a'));

    for (const more of [{}, { ref: 'next' }, { skillName: 'TIDY' }]) {
      const response = await submit(repoUrl, more);
      expect(response.statusCode).toBe(200);
      expect(response.json()).toMatchObject({
        id,
        state: 'PUBLISHED',
        alreadyVerified: true,
        verdictMail: 'not_taken',
      });
    }
    const bobs = await api.call({
      ...{ method: 'POST', url: '/api/v1/submissions', as: BOB, payload: { repoUrl, skillName: 'tidy' } },
    });
    expect(bobs.json()).toMatchObject({ id: null, statusUrl: null, alreadyVerified: true });
    expect(asked.map(({ ref }) => ref)).toContain('next');
  });

  it.each([
    ['its branch has moved', commitOf('b')],
    ['its repository does not answer', undefined],
  ])('is examined again when %s', async (name, head) => {
    const repoUrl = `https://github.com/acme/${name.replaceAll(' ', '-')}`;
    await publish(repoUrl, '# Use', commitOf('a'));
    if (head !== undefined) heads.set(repoUrl, head);

    expect((await submit(repoUrl)).statusCode).toBe(202);
  });

  it('is examined again when another folder is asked for', async () => {
    const repoUrl = 'https://github.com/acme/folders';
    await publish(repoUrl, '# Use', commitOf('a'));
    heads.set(repoUrl, commitOf('a'));

    expect((await submit(repoUrl, { skillPath: 'elsewhere' })).statusCode).toBe(202);
  });

  it('is already verified from a later commit with the same content, and not from the commit of an older version', async () => {
    const repoUrl = 'https://github.com/acme/versions';
    await publish(repoUrl, '# First', commitOf('a'));
    await publish(repoUrl, '# Second', commitOf('b'));
    const same = await publish(repoUrl, '# Second', commitOf('c'));

    heads.set(repoUrl, commitOf('c'));
    expect((await submit(repoUrl)).json()).toMatchObject({ id: same, alreadyVerified: true });
    heads.set(repoUrl, commitOf('a'));
    expect((await submit(repoUrl)).statusCode).toBe(202);
  });
});

it('asks no repository about a skill that is not published', async () => {
  const before = asked.length;
  expect((await submit('https://github.com/acme/new')).statusCode).toBe(202);
  expect(asked).toHaveLength(before);
});
