import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { jwtVerify, SignJWT } from 'jose';
import type { Role } from '../../api/http/auth.js';

export interface TokenIssuer {
  secret: string;
  issuer?: string | undefined;
  audience?: string | undefined;
}

/** The secret that signs the tokens of this installation; made at the first start. */
export function ensureJwtSecret(dataDir: string): string {
  return ensureSecret(join(dataDir, 'jwt-secret'), () => randomBytes(48).toString('base64url'));
}

/** The token guards a local installation, whose secret lies beside it. Expiring sooner would only break scripts. */
const ADMIN = { user: 'admin', role: 'admin', until: '10 years' } as const;

export interface AdminToken {
  token: string;
  file: string;
  isNew: boolean;
}

/** The admin's token for scripts. Made again when it no longer fits: another secret, issuer or audience, or expired. */
export async function ensureAdminToken(dataDir: string, from: TokenIssuer): Promise<AdminToken> {
  const file = join(dataDir, 'admin-token');
  const kept = secretIn(file);
  if (kept && (await isValid(kept, from))) return { token: kept, file, isNew: false };
  const token = await signToken(from, ADMIN);
  writePrivate(file, token);
  return { token, file, isNew: true };
}

/** Undefined: there is none, or an empty file. */
export function secretIn(file: string): string | undefined {
  return existsSync(file) ? readFileSync(file, 'utf8').trim() || undefined : undefined;
}

export function ensureSecret(file: string, make: () => string): string {
  const kept = secretIn(file);
  if (kept) return kept;
  const secret = make();
  writePrivate(file, secret);
  return secret;
}

export interface Bearer {
  user: string;
  role: Role;
  email?: string | undefined;
  until: Date | '10 years';
}

export async function signToken({ secret, issuer, audience }: TokenIssuer, bearer: Bearer): Promise<string> {
  const token = new SignJWT({ roles: [bearer.role], ...(bearer.email !== undefined && { email: bearer.email }) })
    .setProtectedHeader({ alg: 'HS256' })
    .setSubject(bearer.user)
    .setIssuedAt()
    .setExpirationTime(bearer.until);
  if (issuer) token.setIssuer(issuer);
  if (audience) token.setAudience(audience);
  return token.sign(new TextEncoder().encode(secret));
}

async function isValid(token: string, { secret, issuer, audience }: TokenIssuer): Promise<boolean> {
  const expected = { ...(issuer && { issuer }), ...(audience && { audience }), algorithms: ['HS256'] };
  try {
    await jwtVerify(token, new TextEncoder().encode(secret), expected);
    return true;
  } catch {
    return false; // whatever is wrong with it, a new one is right
  }
}

/** Writes the secret whole or not at all: a secret that is half written when the power fails would lock the
 *  installation. */
function writePrivate(file: string, text: string): void {
  const unfinished = `${file}.unfinished`;
  const fd = openSync(unfinished, 'w', 0o600);
  try {
    writeFileSync(fd, `${text}\n`);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(unfinished, file);
}
