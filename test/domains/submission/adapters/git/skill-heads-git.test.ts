import { beforeAll, describe, expect, it } from 'vitest';
import { createGitSkillHeads } from '../../../../../src/domains/submission/adapters/git/skill-heads-git.js';
import type { RepositoryOptions } from '../../../../../src/domains/submission/adapters/git/with-repository.js';
import { until } from '../../../../support/until.js';
import { skillFile } from './repository.js';
import { openWorkshop, processesIn } from './workshop.js';

const workshop = await openWorkshop();

/** A busy machine may need seconds for what a host answers in half a second. */
const PATIENT = { timeoutMs: 30_000 };

function headsWith(options: Partial<RepositoryOptions> = PATIENT) {
  const rules = { hosts: ['github.com', '127.0.0.1'], allowPrivate: true, allowLocal: false };
  return createGitSkillHeads({ ...rules, temporaryFolder: workshop.scratch, ...options });
}

function addressOf(repository: string, ref?: string) {
  return { repoUrl: `${workshop.server.url}acme/${repository}.git`, skillName: 'greet', ref };
}

describe('the head of a repository', () => {
  const commits: Record<string, string> = {};
  beforeAll(() => {
    const repository = workshop.repository('heads');
    const of = (text: string) => repository.folderOf({ 'greet/SKILL.md': skillFile('greet'), 'greet/state': text });
    commits['main'] = repository.commit(of('main'));
    commits['branch'] = repository.commit(of('branch'), 'refs/heads/next');
    repository.commit(of('pull request'), 'refs/pull/1/head');
    repository.commit(of('lookalike'), 'refs/heads/other/next');
    commits['light'] = repository.commit(of('light'), 'refs/tags/v1');
    const tag = `object ${commits['light']}\ntype commit\ntag v2\ntagger A <a@example.com> 1700000000 +0000\n\nv2\n`;
    repository.point('refs/tags/v2', repository.put('tag', Buffer.from(tag)));
  });

  it.each([
    ['the default branch', undefined, 'main'],
    ['a branch', 'next', 'branch'],
    ['a tag', 'v1', 'light'],
    ['an annotated tag, by its commit', 'v2', 'light'],
  ])('is told of %s', async (_, ref, name) => {
    expect(await headsWith().headOf(addressOf('heads', ref))).toBe(commits[name]);
  });

  it('is none for a branch that does not exist, a pull request, and a repository that does not exist', async () => {
    for (const address of [addressOf('heads', 'nowhere'), addressOf('heads', '1/head'), addressOf('missing')]) {
      expect(await headsWith().headOf(address)).toBeNull();
    }
  });
});

describe('a look at a hostile server', () => {
  it('ends within its time where the server says nothing, and its git is killed', async () => {
    workshop.server.answer(() => undefined);

    const looking = headsWith({ timeoutMs: 3_000 }).headOf(addressOf('good'));
    await until('git is at it', () => processesIn(workshop.scratch).length > 2);

    expect(await looking).toBeNull();
    expect(processesIn(workshop.scratch)).toEqual([]);
  });

  it('follows no redirect', async () => {
    const elsewhere: string[] = [];
    workshop.server.answer((request, response) => {
      if (request.url?.startsWith('/secret')) elsewhere.push(request.url);
      response.writeHead(302, { location: `${workshop.server.url}secret/info/refs` }).end();
    });

    expect(await headsWith().headOf(addressOf('good'))).toBeNull();
    expect(elsewhere).toEqual([]);
  });

  it.each([
    ['a private address', ['10.0.0.1']],
    ["a cloud's metadata", ['169.254.169.254']],
    ['a public address and this machine', ['140.82.112.3', '127.0.0.1']],
  ])('asks no host that is %s', async (_, addresses) => {
    const asked = workshop.server.asked.length;
    const heads = headsWith({ ...PATIENT, allowPrivate: false, resolve: async () => addresses });
    expect(await heads.headOf({ repoUrl: 'https://github.com/acme/skills', skillName: 'greet' })).toBeNull();
    expect(workshop.server.asked).toHaveLength(asked);
  });

  it('is not made while four others are', async () => {
    workshop.server.answer(() => undefined);
    const heads = headsWith({ timeoutMs: 3_000 });
    const asked = workshop.server.asked.length;
    const looking = Array.from({ length: 4 }, () => heads.headOf(addressOf('good')));

    await until('all are at it', () => workshop.server.asked.length === asked + 4);
    expect(await heads.headOf(addressOf('good'))).toBeNull();

    expect(workshop.server.asked).toHaveLength(asked + 4);
    expect(await Promise.all(looking)).toEqual([null, null, null, null]);
    workshop.server.answer(undefined);
    expect(await headsWith().headOf(addressOf('good'))).not.toBeNull();
  });
});
