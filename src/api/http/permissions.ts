import { AppError } from '../../core/errors.js';
import type { Decider } from '../../core/pipeline.js';
import type { Actor } from '../../db/spine/transition.js';
import type { Caller, Role } from './auth.js';

/** Everybody who may change anything: `viewer` reads only. */
export const WRITERS = ['user', 'reviewer', 'admin'] as const satisfies readonly Role[];

/** The roles that see every item, not only their own, and the workers and schedules behind the items. */
export const OPERATORS: readonly Role[] = ['admin', 'reviewer', 'viewer'];

export function hasRole(caller: Caller, ...roles: readonly Role[]): boolean {
  return caller.roles.some((role) => roles.includes(role));
}

export function maySee(caller: Caller, item: { owner: string }): boolean {
  return item.owner === caller.sub || hasRole(caller, ...OPERATORS);
}

/** The answer is the same for another owner's item and for an item that never existed, so that ids leak nothing. */
export function noSuchItem(id: string): AppError {
  return new AppError('not_found', `there is no item ${id}`);
}

export function assertMayCancel(caller: Caller, item: { owner: string }): void {
  if (item.owner === caller.sub || hasRole(caller, 'admin')) return;
  throw new AppError('not_allowed', 'only its owner or an admin may cancel an item');
}

/** Actions that an owner is not trusted with. A retry from a later state would skip stages, and a paused item keeps its
 *  place in a full state. */
export function assertMayOperate(caller: Caller, doing: string): void {
  if (!hasRole(caller, 'admin')) throw new AppError('not_allowed', `only an admin may ${doing} an item`);
}

/** `awaits` is the word of the pipeline's table: the owner's own decision, or a reviewer's. A reviewer does not decide on an item of
 *  their own. An admin may, and the audit says so. */
export function assertMayDecide(caller: Caller, item: { owner: string; state: string }, awaits: Decider): void {
  if (hasRole(caller, 'admin')) return;
  const isOwn = item.owner === caller.sub;
  const isOwners = awaits === 'owner';
  if (isOwners ? isOwn : hasRole(caller, 'reviewer') && !isOwn) return;
  if (isOwn && hasRole(caller, 'reviewer')) {
    throw new AppError('not_allowed', `in ${item.state} nobody decides on their own item; ask another reviewer`);
  }
  const who = isOwners ? 'its owner or an admin' : 'a reviewer or an admin';
  throw new AppError('not_allowed', `in ${item.state} only ${who} may decide`);
}

/** The caller as the audit trail names them, by their highest role. */
export function actorOf(caller: Caller): Actor {
  if (hasRole(caller, 'admin')) return { id: caller.sub, type: 'admin' };
  return { id: caller.sub, type: hasRole(caller, 'reviewer') ? 'reviewer' : 'user' };
}
