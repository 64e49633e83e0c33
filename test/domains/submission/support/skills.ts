import { createHash } from 'node:crypto';
import type pg from 'pg';
import { inTransaction } from '../../../../src/db/postgres/client.js';
import { createItem } from '../../../../src/db/spine/items.js';
import { keepContent } from '../../../../src/domains/submission/db/skill-contents.js';
import { type Certification, publishSkill } from '../../../../src/domains/submission/db/skills.js';
import { type NewSubmission, submissionRow } from '../../../../src/domains/submission/db/submissions.js';
import { submission } from '../../../../src/domains/submission/table.js';
import type { Skill } from '../../../../src/domains/submission/ports/skill.js';
import type { JsonObject } from '../../../../src/ports/stage.js';
import { ADA } from '../../../support/spine.js';

export const AUTOMATIC: Certification = { tier: 'tier2', method: 'automatic' };

export function skillOf(body: string, description = 'Tidies a folder up'): Skill {
  const text = `---\nname: tidy\ndescription: ${JSON.stringify(description)}\n---\n${body}\n`;
  const contentHash = createHash('sha256').update(text).digest('hex');
  return {
    files: [{ path: 'SKILL.md', bytes: Buffer.from(text), isExecutable: false }],
    contentHash,
    commit: contentHash.slice(0, 40),
  };
}

/** Submitted by hand, and not worked on yet. */
export async function submitted(pool: pg.Pool, given: Partial<NewSubmission> = {}): Promise<string> {
  const row = submissionRow({ repoUrl: 'https://github.com/ada/skills', skillName: 'tidy', ...given });
  const { id } = await createItem(pool, submission, { owner: 'ada', actor: ADA, trigger: 'api-submission', row });
  return id;
}

export async function fetched(pool: pg.Pool, given: Partial<NewSubmission>, skill: Skill): Promise<string> {
  const id = await submitted(pool, given);
  await inTransaction(pool, (transaction) => keepContent(transaction, id, skill));
  return id;
}

export function publish(pool: pg.Pool, id: string, certification = AUTOMATIC): Promise<JsonObject> {
  return inTransaction(pool, (transaction) => publishSkill(transaction, id, certification));
}
