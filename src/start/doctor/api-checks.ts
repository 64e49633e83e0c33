import { accessSync, constants, existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Config } from '../../config.js';
import { type Check, type Finding, messageOf, ok, type Patient, problem, warning } from './check.js';

export const apiChecks: readonly Check[] = [
  { name: 'api', run: checkReady },
  { name: 'tokens', run: checkTokens },
  { name: 'data folder', run: checkDataFolder },
];

const Health = z.object({
  status: z.enum(['ok', 'degraded']),
  parts: z.record(z.string(), z.object({ status: z.string(), detail: z.string() })),
});

/** Below what a check may take, so that the sentence is ours. */
const ANSWER_WITHIN_MS = 4_000;

async function checkReady({ config, installation, isApiNamed }: Patient): Promise<Finding> {
  const { apiUrl } = installation;
  let response: Response;
  try {
    response = await fetch(`${apiUrl}/health/ready`, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
  } catch {
    const says = `No API answers at ${apiUrl}.`;
    if (isApiNamed || isEmbedded(config)) return problem(says, 'Start it with npm start, or npm run api.');
    return warning(says, 'If it runs on another machine, name it: npm run doctor -- --url http://…');
  }
  const body: unknown = await response.json().catch(() => undefined);
  if (response.status === 503)
    return problem(`The API at ${apiUrl} is not ready.`, 'Look at the database: without it the API can do nothing.');
  const health = Health.safeParse(body);
  if (!health.success) return problem(`What answers at ${apiUrl} is not our API.`, 'Correct PORT and HOST, or --url.');
  const away = Object.values(health.data.parts).filter(({ status }) => status === 'away');
  if (health.data.status === 'ok') return ok(`The API at ${apiUrl} is ready.`);
  return warning(
    `The API at ${apiUrl} is degraded: ${away.map(({ detail }) => detail).join(' ')}`,
    'Bring back what is away; nothing that was accepted is lost meanwhile.',
  );
}

async function checkTokens({ config }: Patient): Promise<Finding> {
  const { secret, jwksUrl } = config.auth;
  if (secret !== undefined) return ok('Tokens are checked with JWT_SECRET.');
  if (jwksUrl !== undefined) return checkKeys(jwksUrl);
  if (!isEmbedded(config)) {
    return problem('Neither JWT_SECRET nor JWT_JWKS_URL is set; the API does not start.', 'Set one of them.');
  }
  const isMade = existsSync(join(config.dataDir, 'jwt-secret'));
  if (isMade) return ok(`Tokens are checked with the secret kept in ${config.dataDir}.`);
  return warning('No secret for tokens is there yet.', 'npm start makes one.');
}

async function checkKeys(url: string): Promise<Finding> {
  const remedy = 'Correct JWT_JWKS_URL, or start the issuer: without its keys nobody can sign in.';
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
    const keys = z.object({ keys: z.array(z.unknown()).min(1) }).safeParse(await response.json());
    return keys.success
      ? ok(`Tokens are checked with the keys at ${url}.`)
      : problem(`There are no keys at ${url}.`, remedy);
  } catch (error) {
    return problem(`The keys at ${url} can't be fetched (${messageOf(error)}).`, remedy);
  }
}

function checkDataFolder({ config }: Patient): Finding {
  const { dataDir } = config;
  if (!isEmbedded(config)) return ok('Postgres and Temporal are not ours, so no data folder is needed.');
  if (!existsSync(dataDir)) return warning(`${dataDir} is not there yet.`, 'npm start makes it.');
  try {
    accessSync(dataDir, constants.W_OK);
    return ok(`${dataDir} can be written.`);
  } catch {
    return problem(
      `${dataDir} can't be written.`,
      'Give it to the user who starts, or set DATA_DIR to another folder.',
    );
  }
}

/** Postgres or Temporal, or both, are started by npm start. */
function isEmbedded({ database, temporal }: Config): boolean {
  return database.url === undefined || temporal.address === undefined;
}
