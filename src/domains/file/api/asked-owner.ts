import { z } from 'zod';
import type { Caller, Role } from '../../../api/http/auth.js';
import { hasRole } from '../../../api/http/permissions.js';
import { textUpTo } from '../../../api/http/text-up-to.js';
import { AppError } from '../../../core/errors.js';

export const OwnerQuery = z.strictObject({
  owner: textUpTo(200).optional().describe('Whose files; `all` for everybody’s. Without it, the caller’s own'),
});

/** Whose files the caller asks about: their own, or those that one of these roles may name. Null: everybody's. */
export function askedOwner(caller: Caller, owner: string | undefined, roles: readonly Role[]): string | null {
  if (owner === undefined) return caller.sub;
  if (hasRole(caller, ...roles)) return owner === 'all' ? null : owner;
  if (owner === caller.sub) return caller.sub;
  throw new AppError('not_allowed', 'only an admin may ask about the files of others');
}
