import { createRemoteJWKSet, errors, type JWTPayload, jwtVerify, type JWTVerifyOptions } from 'jose';
import { z } from 'zod';
import { AppError } from '../../core/errors.js';
import { textUpTo } from './text-up-to.js';

export const ROLES = ['user', 'reviewer', 'admin', 'viewer'] as const;
export type Role = (typeof ROLES)[number];

/** Who sent a request. */
export interface Caller {
  sub: string;
  roles: readonly Role[];
  email?: string;
}

export type AuthSettings = ({ secret: string } | { jwksUrl: string }) & {
  issuer?: string | undefined;
  audience?: string | undefined;
};

/** Throws AppError `not_signed_in`, or `keys_unavailable` if the token can't be checked now. */
export type Identify = (authorization: string | undefined) => Promise<Caller>;

/** Never a symmetric algorithm beside a public key, because everybody who has the key could then sign. */
const PUBLIC_KEY_ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
];

/** Clocks of the issuer and of this machine may differ a little. */
const CLOCK_TOLERANCE = '5s';

const Claims = z.object({
  sub: textUpTo(200),
  roles: z.array(z.unknown()).catch([]),
  email: textUpTo(320).optional().catch(undefined),
  email_verified: z.unknown().optional(),
});

/** Names that the audit trail and the rows use for this service itself. A person under such a name could not be told from it. */
const OWN_NAMES: readonly string[] = ['system', 'worker'];
const OWN_PREFIX = 'unstuck:';

export function createIdentify(settings: AuthSettings): Identify {
  const verify = verifierOf(settings);
  return async (authorization) => {
    const [scheme, token, ...rest] = (authorization ?? '').split(' ');
    if (!token || scheme?.toLowerCase() !== 'bearer' || rest.length > 0) {
      throw new AppError('not_signed_in', 'send a token: Authorization: Bearer <token>');
    }
    return callerOf(await verifyToken(verify, token));
  };
}

type Verify = (token: string) => Promise<{ payload: JWTPayload }>;

function verifierOf(settings: AuthSettings): Verify {
  const options: JWTVerifyOptions = {
    requiredClaims: ['sub', 'exp'],
    clockTolerance: CLOCK_TOLERANCE,
    ...(settings.issuer !== undefined && { issuer: settings.issuer }),
    ...(settings.audience !== undefined && { audience: settings.audience }),
  };
  if ('secret' in settings) {
    const secret = new TextEncoder().encode(settings.secret);
    return (token) => jwtVerify(token, secret, { ...options, algorithms: ['HS256'] });
  }
  const keys = createRemoteJWKSet(new URL(settings.jwksUrl));
  return (token) => jwtVerify(token, keys, { ...options, algorithms: PUBLIC_KEY_ALGORITHMS });
}

/** The fault of a token, in words that its sender can act on. Other reasons stay general, so that they help no
 *  forger. */
const REFUSALS: Readonly<Record<string, string>> = {
  ERR_JWT_EXPIRED: 'the token has expired; get a new one',
  ERR_JWT_CLAIM_VALIDATION_FAILED:
    'the token lacks a claim, or one is not what is expected here (sub, exp, nbf, iss, aud)',
  ERR_JOSE_ALG_NOT_ALLOWED: 'the token is signed with an algorithm that is not accepted here',
};

/** The key server did not answer, or not with keys. */
const KEYS_AWAY = new Set(['ERR_JWKS_TIMEOUT', 'ERR_JWKS_INVALID', 'ERR_JOSE_GENERIC']);

async function verifyToken(verify: Verify, token: string): Promise<JWTPayload> {
  try {
    return (await verify(token)).payload;
  } catch (error) {
    if (!(error instanceof errors.JOSEError) || KEYS_AWAY.has(error.code)) {
      throw new AppError('keys_unavailable', 'the keys that tokens are checked with cannot be fetched now', {
        cause: error,
      });
    }
    throw new AppError('not_signed_in', REFUSALS[error.code] ?? 'the token is not valid', { cause: error });
  }
}

/** Whether only this service itself may have the name: the audit trail would not tell a caller of that name from it. */
export function isOwnName(sub: string): boolean {
  return OWN_NAMES.includes(sub) || sub.startsWith(OWN_PREFIX);
}

function callerOf(payload: JWTPayload): Caller {
  const claims = Claims.safeParse(payload);
  if (!claims.success) throw new AppError('not_signed_in', 'the token names no usable subject (claim sub)');
  const { sub, email: claimed, email_verified: isVerified } = claims.data;
  // The issuer has not checked this address: the user may have typed the address of somebody else.
  const email = isVerified === false || isVerified === 'false' ? undefined : claimed;
  if (isOwnName(sub)) {
    throw new AppError('not_signed_in', `the token's subject '${sub}' is a name of this service; use another sub`);
  }
  const roles = ROLES.filter((role) => claims.data.roles.includes(role));
  return { sub, roles: roles.length > 0 ? roles : ['user'], ...(email !== undefined && { email }) };
}
