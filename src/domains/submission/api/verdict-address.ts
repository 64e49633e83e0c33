import type { Caller } from '../../../api/http/auth.js';
import { hasRole } from '../../../api/http/permissions.js';
import { isMailAddress } from '../../../core/mail-address.js';

/** Where the verdict is mailed to, or why it is not mailed. */
export type VerdictAddress = { email: string } | { missing: 'no_address' | 'not_your_address' };

/** The address in the caller's token. Only an admin may name another, because the mail comes from our server and holds
 *  texts that the submitter chose. */
export function verdictAddressOf(caller: Caller, given: string | undefined): VerdictAddress {
  const own = caller.email !== undefined && isMailAddress(caller.email) ? caller.email : undefined;
  if (given === undefined) return own === undefined ? { missing: 'no_address' } : { email: own };
  const isOwn = given.toLowerCase() === own?.toLowerCase();
  return isOwn || hasRole(caller, 'admin') ? { email: given } : { missing: 'not_your_address' };
}
