import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { projectRoot } from '../../../../src/config.js';
import { tokenOf } from '../../../api/setup.js';
import { commitNothing, HARMLESS, HOSTILE, repositoryIn } from '../support/skill-repository.js';
import { type Parts, startParts } from '../../../start/parts.js';
import { runChild } from '../../../start/run-child.js';

const examples = join(projectRoot, 'examples');

let parts: Parts;
let folder: string;
beforeAll(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-submit-')));
  parts = await startParts({ workers: 1, told: { SUBMISSION_ALLOW_LOCAL: 'true', JUDGE_RULES_MAY_APPROVE: 'true' } });
}, 90_000);
afterAll(async () => {
  await parts.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function submit(...args: string[]) {
  const child = runChild('src/domains/submission/start/submit.ts', args, { env: parts.settings });
  const code = await child.exited;
  const figures = JSON.parse(child.output().trimEnd().split('\n').at(-1) ?? '') as Record<string, unknown>;
  return { code, figures, output: child.output() };
}

describe('npm run submit', () => {
  it('follows a folder of a branch to its publication, and says that there are changes which are not committed', async () => {
    const root = repositoryIn(join(folder, 'fine'), { 'skills/tidy-notes/SKILL.md': HARMLESS });
    writeFileSync(join(root, 'skills', 'tidy-notes', 'draft.md'), 'later');

    const { code, figures, output } = await submit(join(root, 'skills', 'tidy-notes'), '--ref', 'main');

    expect(code, output).toBe(0);
    expect(figures).toMatchObject({ ok: true, state: 'PUBLISHED', version: '1.0.0', model: 'rules-v1' });
    expect(output).toContain('The repository has changes that are not committed. They are not submitted.');
    for (const state of ['TIER1_SCANNING', 'TIER2_SCANNING', 'AUTO_APPROVED', 'PUBLISHED']) {
      expect(output).toMatch(new RegExp(`^ +\\d+\\.\\d s {2}${state}`, 'm'));
    }
    expect(output).toMatch(/^Published as tidy-notes 1\.0\.0; \d+ of 100 points by rules-v1\.$/m);
  });

  it('publishes an example, which is a folder of another repository, as a repository of its own', async () => {
    const { code, figures, output } = await submit('examples/tidy-notes');

    expect(code, output).toBe(0);
    expect(figures).toMatchObject({ ok: true, state: 'PUBLISHED', version: '1.0.0' });
    expect(output).toMatch(
      /^examples\/tidy-notes is no git repository of its own, so a temporary one was made of its 2 files\.$/m,
    );
    const { rows } = await parts.pool.query<{ repo_url: string; path: string }>(
      `SELECT repo_url, path FROM submissions JOIN skill_files USING (content_hash) WHERE id = $1 ORDER BY path`,
      [figures['id']],
    );
    expect(rows.map(({ path }) => path)).toEqual(['SKILL.md', 'example.md']);
    expect(rows[0]?.repo_url.startsWith(parts.settings['DATA_DIR'] ?? '-')).toBe(true);

    const again = await submit('examples/tidy-notes');
    expect(again.output).toMatch(/ is published already, and its branch has not moved since\.$/m);
    expect(again.figures).toMatchObject({ ok: true, id: figures['id'], version: '1.0.0' });
  });

  it('refuses the example that pipes a download into a shell', async () => {
    const { code, figures, output } = await submit('examples/refused-install');

    expect(code, output).toBe(1);
    expect(figures).toMatchObject({ ok: false, state: 'TIER1_FAILED' });
    expect(output).toMatch(/^ {2}SKILL\.md:16 {2}Download piped into an interpreter \(high\)$/m);
  });

  it('publishes the next version of a folder that is no repository under the same name', async () => {
    const skill = join(folder, 'no-repository', 'list-notes');
    mkdirSync(skill, { recursive: true });
    writeFileSync(join(skill, 'SKILL.md'), HARMLESS.replace('tidy-notes', 'list-notes'));
    expect((await submit(skill)).output).toMatch(/^Published as list-notes 1\.0\.0; /m);

    writeFileSync(join(skill, 'more.md'), 'More of it.');
    const { code, output } = await submit(skill);

    expect(code, output).toBe(0);
    expect(output).toMatch(/^Published as list-notes 1\.1\.0; /m);
  });

  it('says that nothing has changed when the same content is submitted again, here as a whole repository', async () => {
    const root = repositoryIn(join(folder, 'sort-notes'), { 'SKILL.md': HARMLESS });
    const first = await submit(root, '--path', '.');
    expect(first.code, first.output).toBe(0);
    expect(first.output).toMatch(/^Anybody who has this link can follow the submission: http\S+\/status\S+$/m);

    commitNothing(root);
    const again = await submit(root, '--path', '.');

    expect(again.code, again.output).toBe(0);
    expect(again.output).toMatch(/^Nothing has changed: sort-notes 1\.0\.0 has this content already; /m);
  });

  it('says why a skill has another name where a skill of another repository has its own', async () => {
    const [one, two] = ['one', 'two'].map((each) =>
      repositoryIn(join(folder, each, 'file-notes'), { 'SKILL.md': HARMLESS }),
    );
    expect((await submit(one ?? '')).code).toBe(0);

    const { code, output } = await submit(two ?? '');

    expect(code, output).toBe(0);
    expect(output).toMatch(
      /^Published as file-notes-\S+ 1\.0\.0, because a skill of another repository has the name file-notes; /m,
    );
  });

  it('tells how it is used', async () => {
    const child = runChild('src/domains/submission/start/submit.ts', ['--help']);
    expect(await child.exited).toBe(0);
    expect(child.output()).toMatch(/^npm run submit -- <git url or folder>/);
  });

  it('says which role a token needs, and where a name came from that is refused', async () => {
    const secret = parts.settings['JWT_SECRET'] ?? '';
    const viewer = await tokenOf({ sub: 'vera', roles: ['viewer'] }, { secret });
    const unseen = await submit('https://github.com/a/b', '--token', viewer);
    expect(unseen.code).toBe(3);
    expect(unseen.output).toMatch(/the token may not do this: .*\. Give a user's with --token\./);

    const root = repositoryIn(join(folder, 'my notes'), { 'SKILL.md': HARMLESS });
    const misnamed = await submit(root);
    expect(misnamed.code).toBe(3);
    expect(misnamed.output).toMatch(
      /^submit: skillName must be 1 to 64 letters.*taken from the folder's, my notes; give the skill's own with --skill\.$/m,
    );
  });

  it('shows what stands in the way of one that fails the scan, where, and what to do', async () => {
    const root = repositoryIn(join(folder, 'bad'), { 'tidy-notes/SKILL.md': HOSTILE });

    const { code, figures, output } = await submit(root, '--skill', 'tidy-notes');

    expect(code, output).toBe(1);
    expect(figures).toMatchObject({ ok: false, state: 'TIER1_FAILED' });
    expect(output).toMatch(
      /^ {2}SKILL\.md:13 {2}Download piped into an interpreter \(high\)\n {4}→ Download to a file/m,
    );
  });

  it('leaves one that a person must look at to that person', async () => {
    const files = { 'tidy-notes/SKILL.md': HARMLESS.replace('runs no commands', 'runs `chmod +x` on it') };
    const { code, output } = await submit(repositoryIn(join(folder, 'rights'), files), '--skill', 'tidy-notes');
    expect(code, output).toBe(2);
    expect(output).toMatch(/^It is in NEEDS_REVIEW; /m);
    const twice = await submit(join(folder, 'rights'), '--skill', 'tidy-notes');
    const id = String(twice.figures['id']);
    expect(twice.output).toContain(`is submitted already. It is on its way as ${id} (POST /api/v1/items/${id}/cancel`);

    const secret = parts.settings['JWT_SECRET'] ?? '';
    const stranger = ['--token', await tokenOf({ sub: 'stranger', roles: ['user'] }, { secret })];
    const theirs = await submit(join(folder, 'rights'), '--skill', 'tidy-notes', ...stranger);
    expect(theirs.code).toBe(3);
    expect(theirs.output).toMatch(
      /is in NEEDS_REVIEW already\. Somebody else has submitted this skill\. Once published/,
    );
  });

  it.each<[string, string[], RegExp]>([
    ['a branch of a folder in no repository is named', [tmpdir(), '--ref', 'main'], /not a git repository/],
    ['a folder has no SKILL.md', [examples], /examples has no SKILL\.md.* have one: refused-install, tidy-notes\.$/m],
    [
      'a file is named',
      [join(examples, 'tidy-notes/SKILL.md')],
      /is no folder\. Name the skill's folder: .*tidy-notes$/m,
    ],
    ['there is no such folder', ['/nowhere/at-all'], /\/nowhere\/at-all is no folder/],
    ['a host is not allowed', ['https://example.com/a/b'], /repoUrl must be on one of these hosts: github\.com/],
    ['nothing is named', [], /name one repository or folder: npm run submit/],
    ['the API does not answer', ['https://github.com/a/b', '--url', 'http://127.0.0.1:9'], /nothing answers at/],
  ])('says what to do when %s', async (_, args, sentence) => {
    const { code, figures, output } = await submit(...args);
    expect(code).toBe(3);
    expect(figures).toMatchObject({ ok: false });
    expect(output).toMatch(sentence);
  });
});
