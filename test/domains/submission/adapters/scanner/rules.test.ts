import { describe, expect, it } from 'vitest';
import { CATEGORIES, type Rule } from '../../../../../src/domains/submission/adapters/scanner/rule.js';
import { RULES } from '../../../../../src/domains/submission/adapters/scanner/rules/rule-pack.js';
import { STRUCTURE } from '../../../../../src/domains/submission/adapters/scanner/rules/structure.js';
import { scanSkill } from '../../../../../src/domains/submission/adapters/scanner/scan-skill.js';
import { skillOf } from './skill-files.js';

async function isFound(rule: Rule, example: string): Promise<boolean> {
  const body = rule.engine === 'syntax' ? `\`\`\`${rule.language}\n${example}\n\`\`\`` : example;
  const findings = await scanSkill(skillOf(body));
  return findings.some(({ id, severity }) => id === rule.id && severity === rule.severity);
}

const rows = RULES.map((rule) => [rule.id, rule] as const);

describe('every rule finds its matching examples and ignores the others', () => {
  it.each(rows)('%s', async (_, rule) => {
    const missed = await filterAsync(rule.matches, async (example) => !(await isFound(rule, example)));
    const wrong = await filterAsync(rule.ignores, (example) => isFound(rule, example));

    expect({ missed, wrong }).toEqual({ missed: [], wrong: [] });
    expect(rule.matches.length).toBeGreaterThan(0);
    expect(rule.ignores.length).toBeGreaterThan(0);
  });
});

describe('the rule pack', () => {
  it('has an id for each rule, a rule for each category, and chains of rules that exist', () => {
    const ids = [...RULES, ...Object.values(STRUCTURE)].map(({ id }) => id);
    const chained = RULES.flatMap((rule) => (rule.engine === 'chain' ? rule.all.flat() : []));

    expect(new Set(ids).size).toBe(ids.length);
    expect(new Set([...RULES, ...Object.values(STRUCTURE)].map(({ category }) => category))).toEqual(
      new Set(CATEGORIES),
    );
    expect(chained.filter((id) => !ids.includes(id))).toEqual([]);
  });

  it('has a description and a remedy for each rule', () => {
    const silent = [...RULES, ...Object.values(STRUCTURE)].filter(
      (rule) => !rule.description || !rule.remedy || !rule.name,
    );

    expect(silent).toEqual([]);
  });
});

async function filterAsync<T>(all: readonly T[], test: (each: T) => Promise<boolean>): Promise<T[]> {
  const kept = await Promise.all(all.map(test));
  return all.filter((_, at) => kept[at]);
}
