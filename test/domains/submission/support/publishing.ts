import type pg from 'pg';
import type { Claimed } from '../../../../src/db/spine/attempt.js';
import type { Committed } from '../../../../src/db/spine/commit.js';
import { publishSkill } from '../../../../src/domains/submission/db/skills.js';
import { submission } from '../../../../src/domains/submission/table.js';
import { AUTOMATIC, fetched, skillOf } from './skills.js';
import { byHand } from '../../../support/spine.js';

/** A submission that is only to be published. */
export async function approved(pool: pg.Pool, repoUrl: string, body: string): Promise<string> {
  const id = await fetched(pool, { repoUrl }, skillOf(body));
  const stages = ['checkVendor:other', 'fetch', 'scanTier1:pass', 'judgeTier2:pass'];
  await byHand(pool, submission).walk(id, ...stages);
  return id;
}

export function claimPublishing(pool: pg.Pool, id: string, worker: string, claimId?: string): Promise<Claimed> {
  return byHand(pool, submission).claimed(id, { stage: 'publish', worker, ...(claimId && { claimId }) });
}

/** The end of the stage, as the stage itself asks for it. */
export function commitPublishing(pool: pg.Pool, claimed: Claimed): Promise<Committed> {
  return byHand(pool, submission).commit(claimed, {
    is: 'done',
    outcome: 'done',
    save: (transaction) => publishSkill(transaction, claimed.itemId, AUTOMATIC),
  });
}

export interface PublishedVersion {
  number: number;
  version: string;
  submission: string;
}

export async function versionsOf(pool: pg.Pool, repoUrl: string): Promise<PublishedVersion[]> {
  const { rows } = await pool.query<PublishedVersion>(
    `SELECT v.number, v.version, v.submission_id AS submission FROM skills s JOIN skill_versions v ON v.skill_id = s.id
     WHERE s.repo_url = $1 ORDER BY v.number`,
    [repoUrl],
  );
  return rows;
}
