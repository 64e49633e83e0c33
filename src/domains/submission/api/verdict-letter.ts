import { letterOf, toldOf } from '../core/verdict/submission-status.js';
import { findStatus } from '../db/submission-status.js';
import type { WriteLetter } from '../../../loops/courier.js';
import type { StatusLinks } from '../../../api/items/status-links.js';

/** The verdict on a submission, for the address that came with it. */
export function createVerdictLetter({ statusUrlOf }: Pick<StatusLinks, 'statusUrlOf'>): WriteLetter {
  return async (pool, itemId) => {
    const status = await findStatus(pool, itemId);
    if (!status) return null;
    const url = statusUrlOf(itemId);
    // A path alone leads nowhere from a mail.
    return letterOf(status.skillName, toldOf(status), url !== null && URL.canParse(url) ? url : null);
  };
}
