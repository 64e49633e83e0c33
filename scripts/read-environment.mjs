import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';

/** The environment with .env behind it, as src/config.ts reads it. An empty value counts as not set. */
export function readEnvironment(root) {
  const file = join(root, '.env');
  const all = { ...(existsSync(file) ? parseEnv(readFileSync(file, 'utf8')) : {}), ...process.env };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ''));
}
