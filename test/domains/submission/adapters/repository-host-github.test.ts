import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createGitHubHost } from '../../../../src/domains/submission/adapters/repository-host-github.js';
import { sourceContract } from './source-contract.js';
import { type SourceServer, startSourceServer } from './source-server.js';

const REPOSITORY = 'https://github.com/ada/tools';

function github(apiUrl: string, more: { allowPrivate?: boolean; timeoutMs?: number; token?: string } = {}) {
  return createGitHubHost({ apiUrl, allowPrivate: true, timeoutMs: 20_000, ...more });
}

const { signal } = new AbortController();

sourceContract('a list of folders', (url, limits, stop) => github(url, limits).listSkillFolders(REPOSITORY, stop), {
  tree: [],
});
sourceContract('a repository’s facts', (url, limits, stop) => github(url, limits).findFacts(REPOSITORY, stop), {
  stargazers_count: 1,
});

describe('GitHub', () => {
  let server: SourceServer;
  beforeEach(async () => {
    server = await startSourceServer();
  });
  afterEach(() => server.close());

  it.each([
    ['git+https://github.com/Ada/Tools.git', REPOSITORY],
    ['git://github.com/ada/tools.git', REPOSITORY],
    ['git+ssh://git@github.com/ada/tools.git', REPOSITORY],
    ['git@github.com:ada/tools.git', REPOSITORY],
    ['github:ada/tools', REPOSITORY],
    ['https://github.com/ada/tools/#readme', REPOSITORY],
    ['https://gitlab.com/ada/tools', null],
    ['https://github.com.evil.example/ada/tools', null],
    ['https://evil.example/?https://github.com/ada/tools', null],
    ['https://github.com/ada', null],
    ['https://github.com/ada/..', null],
    ['https://github.com/../tools', null],
    ['https://github.com/ada/tools/tree/main', null],
  ])('serves %s as %s', (written, address) => {
    expect(github(server.url).addressOf(written)).toBe(address);
  });

  it('lists the folders that hold a SKILL.md, and no folder with a similar file', async () => {
    const blobs = ['SKILL.md', 'skills/pdf/SKILL.md', 'docs/MY-SKILL.md', 'skill.md', 'SKILL.md.bak'];
    const tree = [...blobs.map((path) => ({ path, type: 'blob' })), { path: 'odd/SKILL.md', type: 'tree' }];
    server.json({ tree });
    expect(await github(server.url).listSkillFolders(REPOSITORY, signal)).toEqual(['', 'skills/pdf']);
    expect(server.asked).toEqual(['GET /repos/ada/tools/git/trees/HEAD?recursive=1']);
  });

  it('does not take a truncated tree for a repository without a skill', async () => {
    const readme = { path: 'README.md', type: 'blob' };
    server.json({ tree: [readme], truncated: true });
    await expect(github(server.url).listSkillFolders(REPOSITORY, signal)).rejects.toMatchObject({
      code: 'source_unavailable',
    });
    server.json({ tree: [readme, { path: 'pdf/SKILL.md', type: 'blob' }], truncated: true });
    expect(await github(server.url).listSkillFolders(REPOSITORY, signal)).toEqual(['pdf']);
  });

  it('tells stars and the last push, and sends the token if there is one', async () => {
    server.json({ stargazers_count: 7, pushed_at: '2026-11-01T10:00:00Z' });
    const facts = await github(server.url, { token: 'secret' }).findFacts(REPOSITORY, signal);
    expect(facts).toEqual({ stars: 7, lastCommitAt: new Date('2026-11-01T10:00:00Z') });
    expect(server.lastHeaders().authorization).toBe('Bearer secret');
  });

  it('says when a repository does not exist, or is on another host', async () => {
    server.json({}, 404);
    expect(await github(server.url).findFacts(REPOSITORY, signal)).toBeNull();
    expect(await github(server.url).listSkillFolders('https://gitlab.com/ada/tools', signal)).toBeNull();
    expect(server.asked).toHaveLength(1);
  });
});
