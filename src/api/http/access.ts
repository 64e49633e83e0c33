import type { FastifyRequest } from 'fastify';
import { AppError, isAppError } from '../../core/errors.js';
import type { Caller, Identify, Role } from './auth.js';
import { hasRole } from './permissions.js';

/** Who may call a route. A route without this setting wants a signed-in caller, so forgetting the setting closes a
 *  route and never opens it. */
export type Access = 'open' | 'signed-in' | readonly Role[];

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access;
  }
  interface FastifyRequest {
    caller: Caller | null;
    /** Why there is no caller. */
    refusal: AppError | null;
  }
}

/** Finds out who calls. Only `authorizeCaller`, behind the rate limit, refuses an unknown caller. Otherwise bad tokens
 *  could be tried without end. */
export function identifyCaller(identify: Identify): (request: FastifyRequest) => Promise<void> {
  return async (request) => {
    if (accessOf(request) === 'open') return;
    try {
      request.caller = await identify(request.headers.authorization);
    } catch (error) {
      if (!isAppError(error)) throw error;
      request.refusal = error;
    }
  };
}

export async function authorizeCaller(request: FastifyRequest): Promise<void> {
  const access = accessOf(request);
  if (access === 'open') return;
  const caller = callerOf(request);
  if (access !== 'signed-in' && !hasRole(caller, ...access)) {
    throw new AppError('not_allowed', `this needs one of the roles ${access.join(', ')}`);
  }
}

export function callerOf(request: FastifyRequest): Caller {
  if (request.caller) return request.caller;
  throw request.refusal ?? new AppError('not_signed_in', 'this route needs a signed-in caller');
}

function accessOf(request: FastifyRequest): Access {
  return request.is404 ? 'open' : (request.routeOptions.config.access ?? 'signed-in');
}
