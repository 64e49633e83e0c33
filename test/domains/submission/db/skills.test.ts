import { describe, expect, it } from 'vitest';
import { inTransaction } from '../../../../src/db/postgres/client.js';
import { publishSkill } from '../../../../src/domains/submission/db/skills.js';
import type { JsonObject } from '../../../../src/ports/stage.js';
import { AUTOMATIC, fetched as fetchedBy, publish as publishBy, skillOf } from '../support/skills.js';
import { useSpine } from '../../../support/spine.js';

const spine = useSpine();

function fetched(repoUrl: string, body: string): Promise<string> {
  return fetchedBy(spine.pool, { repoUrl }, skillOf(body));
}

function publish(id: string): Promise<JsonObject> {
  return publishBy(spine.pool, id);
}

async function versionsOf(repoUrl: string) {
  const { rows } = await spine.pool.query<{ line: string }>(
    `SELECT concat_ws(' ', s.name, v.number, v.version, v.description) AS line FROM skills s
     JOIN skill_versions v ON v.skill_id = s.id WHERE s.repo_url = $1 ORDER BY v.number`,
    [repoUrl],
  );
  return rows.map(({ line }) => line);
}

describe('a published skill', () => {
  it('begins with 1.0.0, and new content is a new version', async () => {
    const repo = 'https://github.com/first/skills';
    expect(
      await publish(
        await fetched(
          repo,
          '# Use\nSort what is there.\nThe oldest comes first.\nAsk before anything is moved.\nSay what was done.',
        ),
      ),
    ).toMatchObject({ version: '1.0.0' });
    expect(
      await publish(
        await fetched(
          repo,
          '# Use\nSort what is there.\nThe newest comes first.\nAsk before anything is moved.\nSay what was done.',
        ),
      ),
    ).toMatchObject({ version: '1.0.1' });
    expect(await versionsOf(repo)).toEqual(['tidy 1 1.0.0 Tidies a folder up', 'tidy 2 1.0.1 Tidies a folder up']);
  });

  it('is described as its YAML says, also in several lines', async () => {
    const repoUrl = 'https://github.com/folded/skills';
    const page = '---\nname: tidy\ndescription: >\n  Tidies a\n  folder up.\n---\nUse it.\n';
    const skill = { ...skillOf(page), files: [{ path: 'SKILL.md', bytes: Buffer.from(page), isExecutable: false }] };
    await publish(await fetchedBy(spine.pool, { repoUrl }, skill));
    expect((await versionsOf(repoUrl))[0]).toMatch(/1\.0\.0 Tidies a folder up\.$/);
  });

  it('stays as it is when the same content is published again', async () => {
    const repo = 'https://github.com/again/skills';
    const first = await publish(await fetched(repo, 'Same.'));
    expect(await publish(await fetched(repo, 'Same.'))).toEqual({ ...first, unchanged: true });
    expect(await versionsOf(repo)).toHaveLength(1);
  });

  it('takes versions one after the other, however many are published at once', async () => {
    const repo = 'https://github.com/many/skills';
    const ids = await Promise.all(Array.from({ length: 8 }, (_, n) => fetched(repo, `# Use\nWay ${String(n)}.`)));
    await Promise.all(ids.map(publish));
    expect((await versionsOf(repo)).map((line) => line.split(' ')[1])).toEqual([
      '1',
      '2',
      '3',
      '4',
      '5',
      '6',
      '7',
      '8',
    ]);
    const versions = (await versionsOf(repo)).map((line) => line.split(' ')[2]);
    expect(new Set(versions).size).toBe(8);
  });

  it('leaves its name to the skill that had it first, and adds its owner to its own', async () => {
    const [mine, theirs] = ['https://github.com/ada/tools', 'https://github.com/Eve/tools'];
    await publish(await fetched(mine, 'Mine.'));
    await publish(await fetched(theirs, 'Theirs.'));
    const [name] = (await versionsOf(theirs)).map((line) => line.split(' ')[0]);
    expect(name).toBe('tidy-eve');
    const shouted = { repoUrl: 'https://github.com/zoe/tools', skillName: 'TIDY' };
    await publishBy(spine.pool, await fetchedBy(spine.pool, shouted, skillOf('Shouted.')));
    expect((await versionsOf(shouted.repoUrl))[0]).toMatch(/^TIDY-zoe /);
  });

  it('has no version of a submission that was not published after all', async () => {
    const repo = 'https://github.com/undone/skills';
    const id = await fetched(repo, 'Undone.');
    const undone = inTransaction(spine.pool, async (transaction) => {
      await publishSkill(transaction, id, AUTOMATIC);
      throw new Error('the commit was refused');
    });
    await expect(undone).rejects.toThrow('refused');
    expect(await versionsOf(repo)).toEqual([]);
    expect(await publish(id)).toMatchObject({ version: '1.0.0' });
  });

  it('is the same with .git and without, and in any case', async () => {
    const repoUrl = 'https://git.example.com/team/tools';
    const first = await publish(await fetched(repoUrl, 'One.'));
    const again = { repoUrl: `${repoUrl}.git`, skillName: 'Tidy' };
    expect(await publish(await fetchedBy(spine.pool, again, skillOf('Two.')))).toMatchObject({
      skillId: first['skillId'],
    });
    expect(await versionsOf(repoUrl)).toHaveLength(2);
  });
});
