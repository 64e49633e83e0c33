import { randomUUID } from 'node:crypto';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tokenOf } from '../../../api/setup.js';
import { type Parts, startParts } from '../../../start/parts.js';
import { runChild } from '../../../start/run-child.js';
import { tempDir } from '../../../start/temp-dir.js';

const CONCERN = 'no model has judged this skill; a person decides';

let parts: Parts;
beforeAll(async () => {
  parts = await startParts({ workers: 1, told: { SUBMISSION_ALLOW_LOCAL: 'true' } });
}, 90_000);
afterAll(() => parts.stop());

async function run(command: 'submit' | 'review', ...args: string[]) {
  const child = runChild(`src/domains/submission/start/${command}.ts`, args, { env: parts.settings });
  const code = await child.exited;
  const figures = JSON.parse(child.output().trimEnd().split('\n').at(-1) ?? '') as Record<string, unknown>;
  return { code, figures, output: child.output(), id: String(figures['id']) };
}

function token(sub: string, role: 'user' | 'reviewer'): Promise<string> {
  return tokenOf({ sub, roles: [role] }, { secret: parts.settings['JWT_SECRET'] ?? '' });
}

/** A skill that no other test has published. */
function otherSkill(): string {
  const folder = join(tempDir(), 'sort-lines');
  cpSync('examples/tidy-notes', folder, { recursive: true });
  const file = join(folder, 'SKILL.md');
  writeFileSync(file, readFileSync(file, 'utf8').replace('name: tidy-notes', 'name: sort-lines'));
  return folder;
}

describe('npm run review', () => {
  it('publishes a skill that the rules alone would have approved', async () => {
    const submitted = await run('submit', 'examples/tidy-notes');
    expect(submitted.code, submitted.output).toBe(2);
    expect(submitted.output).toMatch(/^It is in NEEDS_REVIEW; 100 of 100 points by rules-v1\. /m);
    expect(submitted.output).toContain(
      `\n  ${CONCERN}\nA reviewer decides: npm run review -- approve ${submitted.id}\n`,
    );

    const { code, figures, output } = await run('review', 'approve', submitted.id);

    expect(code, output).toBe(0);
    expect(output).toMatch(/^Published as tidy-notes 1\.0\.0; 100 of 100 points by rules-v1\.$/m);
    expect(figures).toMatchObject({ ok: true, id: submitted.id, state: 'PUBLISHED', version: '1.0.0' });
    const { rows } = await parts.pool.query<{ tier2: unknown; judgement: unknown }>(
      'SELECT tier2, judgement FROM submissions JOIN judgements USING (content_hash) WHERE id = $1',
      [submitted.id],
    );
    expect(JSON.stringify(rows)).not.toContain(CONCERN);

    const late = await run('review', 'approve', submitted.id);
    expect(late.code).toBe(3);
    expect(late.output).toMatch(/^review: only a submission in NEEDS_REVIEW or TIER3_REVIEW can be answered with/m);
  });

  it('rejects with a reason, which the owner is told, and needs a reviewer who did not submit the skill', async () => {
    const rita = await token('rita', 'reviewer');
    const { id } = await run('submit', otherSkill(), '--token', rita);

    const own = await run('review', 'approve', id, '--token', rita);
    expect(own.code).toBe(3);
    expect(own.output).toMatch(/^review: the token may not do this: in NEEDS_REVIEW nobody decides on their own item/m);
    const byUser = await run('review', 'approve', id, '--token', await token('ada', 'user'));
    expect(byUser.output).toMatch(/^review: the token may not do this: .*\. Give a reviewer's with --token\.$/m);

    const reviewer = await token('rob', 'reviewer');
    const { code, figures, output } = await run('review', 'reject', id, '--reason', 'too broad', '--token', reviewer);

    expect(code, output).toBe(0);
    expect(figures).toMatchObject({ ok: true, id, state: 'REJECTED', version: null });
    expect(output).toMatch(/^Not published: A reviewer rejected it\.\n {2}too broad$/m);
  });

  it.each<[string, string[], RegExp]>([
    ['nothing is named', [], /^review: name a decision and one submission: npm run review -- approve <id>/m],
    ['the decision is not known', ['accept', randomUUID()], /^review: name a decision and one submission/m],
    [
      'the id is none',
      ['approve', 'tidy-notes'],
      /^review: 'tidy-notes' is no submission's id; npm run submit prints/m,
    ],
    [
      'a rejection has no reason',
      ['reject', randomUUID()],
      /^review: a rejection needs a reason.*add --reason "…"\.$/m,
    ],
    ['there is no such submission', ['approve', randomUUID()], /^review: there is no item [0-9a-f-]{36}\.$/m],
    [
      'the API does not answer',
      ['approve', randomUUID(), '--url', 'http://127.0.0.1:9'],
      /^review: nothing answers at/m,
    ],
    ['the address is none', ['approve', randomUUID(), '--url', 'here'], /^review: --url here is not a URL/m],
    ['an option is not known', ['approve', '--because'], /^review: .*--because.*Use npm run review -- /m],
  ])('says what to do when %s', async (_, args, sentence) => {
    const { code, figures, output } = await run('review', ...args);
    expect(code).toBe(3);
    expect(figures).toMatchObject({ ok: false });
    expect(output).toMatch(sentence);
  });

  it('tells how it is used', async () => {
    const child = runChild('src/domains/submission/start/review.ts', ['--help']);
    expect(await child.exited).toBe(0);
    expect(child.output()).toMatch(/^npm run review -- approve <id> \| reject <id> --reason "…"/);
  });
});
