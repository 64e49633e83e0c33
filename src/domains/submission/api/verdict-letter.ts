import { letterOf, publicStatusOf } from '../core/verdict/submission-status.js';
import { findStatus } from '../db/submission-status.js';
import type { StatusLinks } from '../../../api/items/status-links.js';
import type { WriteLetter } from '../../../ports/notifier.js';

/** The verdict on a submission, for the address that is stored with it. */
export function createVerdictLetter({ statusUrlOf }: Pick<StatusLinks, 'statusUrlOf'>): WriteLetter {
  return async (sql, itemId) => {
    const status = await findStatus(sql, itemId);
    if (!status) return null;
    const url = statusUrlOf(itemId);
    // A path alone leads nowhere from a mail.
    return letterOf(status.skillName, publicStatusOf(status), url !== null && URL.canParse(url) ? url : null);
  };
}
