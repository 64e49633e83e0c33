import type { FoundSkill } from '../core/address/discovery.js';
import { isAppError } from '../../../core/errors.js';
import type { Pipeline } from '../../../core/pipeline.js';
import { type AddressRules, canonicalUrl, checkedAddress, skillKey, vendorIn } from '../core/address/skill-address.js';
import type { Sql } from '../../../ports/sql.js';
import { createItem } from '../../../db/spine/items.js';
import { submissionRow } from './submissions.js';
import { SYSTEM } from '../../../db/spine/transition.js';

/** Whom discovered skills belong to. */
const OWNER = 'discovery';

/** Below everything that somebody waits for. */
const PRIORITY = -10;

export interface FoundRules {
  address: AddressRules;
  vendors: readonly string[];
}

/** Submits what discovery has found; the dispatcher starts it when nothing more important waits. Refused: its address is not one
 *  that is taken. */
export function submitFound(pipeline: Pipeline | undefined, { address, vendors }: FoundRules) {
  if (!pipeline) throw new Error('there is no pipeline submission');
  return async (transaction: Sql, skill: FoundSkill, from: { package: string; version: string }) => {
    const checked = orNull(() => checkedAddress(skill, address));
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

function orNull<T>(check: () => T): T | null {
  try {
    return check();
  } catch (error) {
    if (isAppError(error)) return null;
    throw error;
  }
}
