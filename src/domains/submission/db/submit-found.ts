import type { FoundSkill } from '../core/address/discovery.js';
import { isAppError } from '../../../core/errors.js';
import type { Pipeline } from '../../../core/pipeline.js';
import { type AddressRules, canonicalUrl, checkAddress, skillKey, vendorIn } from '../core/address/skill-address.js';
import type { Sql } from '../../../ports/sql.js';
import { createItem } from '../../../db/spine/items.js';
import { submissionRow } from './submissions.js';
import { SYSTEM } from '../../../db/spine/transition.js';

/** The owner of all discovered skills. No token can name this owner. */
const OWNER = 'unstuck:discovery';

/** Below the priority of every submission that a person waits for. */
const PRIORITY = -10;

export interface FoundRules {
  address: AddressRules;
  vendors: readonly string[];
}

/** Submits the skills that discovery finds. The dispatcher starts them when nothing more important waits. refused: the
 *  address breaks the rules. known: the skill is submitted already. */
export function submitFound(pipeline: Pipeline | undefined, { address, vendors }: FoundRules) {
  if (!pipeline) throw new Error('there is no pipeline submission');
  return async (transaction: Sql, skill: FoundSkill, from: { package: string; version: string }) => {
    const checked = parseOrNull(() => checkAddress(skill, address));
    if (!checked) return 'refused' as const;
    const repoUrl = canonicalUrl(checked.repository);
    const isVendor = vendorIn(repoUrl, { ...address, vendors }) !== null;
    const { skillName, skillPath, ref } = checked;
    const { created } = await createItem(transaction, pipeline, {
      owner: OWNER,
      actor: SYSTEM,
      trigger: 'npm-discovery',
      metadata: from,
      dedupeKey: skillKey(checked),
      priority: PRIORITY,
      row: submissionRow({ repoUrl, skillName, skillPath, ref, isVendor }),
    });
    return created ? ('submitted' as const) : ('known' as const);
  };
}

function parseOrNull<T>(check: () => T): T | null {
  try {
    return check();
  } catch (error) {
    if (isAppError(error)) return null;
    throw error;
  }
}
