import { describe, expect, it } from 'vitest';
import { skillsIn } from '../../../../../src/domains/submission/core/address/discovery.js';

const REPOSITORY = 'https://github.com/ada/tools';

describe('the skills of a repository', () => {
  it('are named like their folders, the one at the root like the repository', () => {
    expect(skillsIn(REPOSITORY, ['skills/pdf', '']).map(({ skillName, skillPath }) => [skillName, skillPath])).toEqual([
      ['tools', '.'],
      ['pdf', 'skills/pdf'],
    ]);
  });

  it('are ten at most, those nearest to the root, in an order that does not depend on the server’s', () => {
    const folders = Array.from({ length: 30 }, (_, n) => `deep/down/skill-${String(n).padStart(2, '0')}`);
    const found = skillsIn(REPOSITORY, [...folders, 'a']).map(({ skillName }) => skillName);
    expect(found).toHaveLength(10);
    expect(found[0]).toBe('a');
    expect(skillsIn(REPOSITORY, ['a', ...folders.reverse()]).map(({ skillName }) => skillName)).toEqual(found);
  });
});
