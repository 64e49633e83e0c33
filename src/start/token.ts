import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { isOwnName, type Role, ROLES } from '../api/http/auth.js';
import type { Config } from '../config.js';
import { loadConfig } from './parts/from-domains.js';
import { isMailAddress } from '../core/mail-address.js';
import { isSpan, msOf } from '../core/span.js';
import { asksForHelp } from './parts/asks-for-help.js';
import { runProcess } from './parts/run-process.js';
import { secretIn, signToken } from './parts/secrets.js';
import { StartError } from './embedded/start-error.js';

const USAGE = `npm run --silent token -- <user> [--role ${ROLES.join('|')}] [--email address] [--for 8h]`;

/** Signs a token for a caller of the installation here and prints it: for trying out the rights of each role, and for scripts. */
async function main(): Promise<void> {
  const args = process.argv.slice(2);
  if (asksForHelp(args)) {
    process.stdout.write(`${USAGE}\n`);
    return;
  }
  const { values, positionals } = parseArguments(args);
  const [user, ...more] = positionals;
  if (!user || more.length > 0) throw new StartError(`token: name one user: ${USAGE}`);
  if (isOwnName(user)) throw new StartError(`token: ${user} is a name of this service; use another name.`);
  const role = roleOf(values.role);
  if (!isSpan(values.for) || msOf(values.for) < 1_000) {
    throw new StartError(`token: --for ${values.for} is no span of at least a second; write it like 30m, 8h or 7d.`);
  }
  const { email } = values;
  if (email !== undefined && !isMailAddress(email)) {
    throw new StartError(`token: --email ${email} is not one plain mail address; write it like ada@example.org.`);
  }
  const { auth, ...config } = loadConfig();
  const from = { ...auth, secret: auth.secret ?? secretHere(auth, config.dataDir) };
  const until = new Date(Date.now() + msOf(values.for));
  process.stdout.write(`${await signToken(from, { user, role, email, until })}\n`);
}

function parseArguments(args: string[]) {
  const options = {
    role: { type: 'string', default: 'user' },
    email: { type: 'string' },
    for: { type: 'string', default: '8h' },
  } as const;
  try {
    return parseArgs({ args, allowPositionals: true, options });
  } catch (cause) {
    throw new StartError(`token: ${(cause as Error).message}. Use ${USAGE}`, { cause });
  }
}

function roleOf(text: string): Role {
  const role = ROLES.find((each) => each === text);
  if (!role) throw new StartError(`token: there is no role ${text}; there are ${ROLES.join(', ')}.`);
  return role;
}

function secretHere({ jwksUrl }: Config['auth'], dataDir: string): string {
  if (jwksUrl) throw new StartError('token: with JWT_JWKS_URL tokens are signed by whoever holds the key, not here.');
  const secret = secretIn(join(dataDir, 'jwt-secret'));
  if (secret) return secret;
  throw new StartError(
    `token: there is no secret in ${dataDir}, where npm start keeps it. Set DATA_DIR or JWT_SECRET.`,
  );
}

await runProcess(main);
