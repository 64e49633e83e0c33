import { describe, expect, it } from 'vitest';
import { type Standing, publicStatusOf } from '../../../../../src/domains/submission/core/verdict/submission-status.js';

function published(name: string): Standing {
  const end = { trigger: 'publish-complete', said: null, error: null, findings: [], judgement: null, needed: null };
  return { state: 'PUBLISHED', skillName: 'greet', isEnded: true, end, published: { name, version: '1.0.0' } };
}

describe('what the owner of a published skill is told', () => {
  it.each(['greet', 'Greet'])('is its name and version: %s', (name) => {
    expect(publicStatusOf(published(name)).nextAction).toBe(`It is published as ${name} 1.0.0.`);
  });

  it('says why the skill has another name than was submitted', () => {
    expect(publicStatusOf(published('greet-acme')).nextAction).toBe(
      'It is published as greet-acme 1.0.0, because a skill of another repository has the name greet.',
    );
  });
});
