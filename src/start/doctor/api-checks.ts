import { accessSync, constants, existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Config } from '../../config.js';
import { messageOf } from '../../core/errors.js';
import { type Check, type Finding, type Patient, reportOk, reportProblem, reportWarning } from './check.js';

export const apiChecks: readonly Check[] = [
  { name: 'api', run: checkReady },
  { name: 'tokens', run: checkTokens },
  { name: 'data folder', run: checkDataFolder },
];

const Health = z.object({
  status: z.enum(['ok', 'degraded']),
  parts: z.record(z.string(), z.object({ status: z.string(), detail: z.string() })),
});

/** Shorter than the limit of a check, so that this check words the finding. */
const ANSWER_WITHIN_MS = 4_000;

async function checkReady({ config, installation, isApiNamed }: Patient): Promise<Finding> {
  const { apiUrl } = installation;
  let response: Response;
  try {
    response = await fetch(`${apiUrl}/health/ready`, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
  } catch {
    const says = `No API answers at ${apiUrl}.`;
    if (isApiNamed || isEmbedded(config)) return reportProblem(says, 'Start it with npm start, or npm run api.');
    return reportWarning(says, 'If it runs on another machine, name it: npm run doctor -- --url http://…');
  }
  const body: unknown = await response.json().catch(() => undefined);
  if (response.status === 503)
    return reportProblem(
      `The API at ${apiUrl} is not ready.`,
      'Look at the database: without it the API can do nothing.',
    );
  const health = Health.safeParse(body);
  if (!health.success)
    return reportProblem(`What answers at ${apiUrl} is not our API.`, 'Correct PORT and HOST, or --url.');
  const away = Object.values(health.data.parts).filter(({ status }) => status === 'away');
  if (health.data.status === 'ok') return reportOk(`The API at ${apiUrl} is ready.`);
  return reportWarning(
    `The API at ${apiUrl} is degraded: ${away.map(({ detail }) => detail).join(' ')}`,
    'Bring back what is away; nothing that was accepted is lost meanwhile.',
  );
}

async function checkTokens({ config }: Patient): Promise<Finding> {
  const { secret, jwksUrl } = config.auth;
  if (secret !== undefined) return reportOk('Tokens are checked with JWT_SECRET.');
  if (jwksUrl !== undefined) return checkKeys(jwksUrl);
  if (!isEmbedded(config)) {
    return reportProblem('Neither JWT_SECRET nor JWT_JWKS_URL is set; the API does not start.', 'Set one of them.');
  }
  const isMade = existsSync(join(config.dataDir, 'jwt-secret'));
  if (isMade) return reportOk(`Tokens are checked with the secret kept in ${config.dataDir}.`);
  return reportWarning('No secret for tokens is there yet.', 'npm start makes one.');
}

async function checkKeys(url: string): Promise<Finding> {
  const remedy = 'Correct JWT_JWKS_URL, or start the issuer: without its keys nobody can sign in.';
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
    const keys = z.object({ keys: z.array(z.unknown()).min(1) }).safeParse(await response.json());
    return keys.success
      ? reportOk(`Tokens are checked with the keys at ${url}.`)
      : reportProblem(`There are no keys at ${url}.`, remedy);
  } catch (error) {
    return reportProblem(`The keys at ${url} can't be fetched (${messageOf(error)}).`, remedy);
  }
}

function checkDataFolder({ config }: Patient): Finding {
  const { dataDir } = config;
  if (!isEmbedded(config)) return reportOk('Postgres and Temporal are not ours, so no data folder is needed.');
  if (!existsSync(dataDir)) return reportWarning(`${dataDir} is not there yet.`, 'npm start makes it.');
  try {
    accessSync(dataDir, constants.W_OK);
    return reportOk(`${dataDir} can be written.`);
  } catch {
    return reportProblem(
      `${dataDir} can't be written.`,
      'Give it to the user who starts, or set DATA_DIR to another folder.',
    );
  }
}

/** Postgres or Temporal, or both, are started by npm start. */
function isEmbedded({ database, temporal }: Config): boolean {
  return database.url === undefined || temporal.address === undefined;
}
