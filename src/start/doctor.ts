import { parseArgs } from 'node:util';
import { type Config, ConfigError } from '../config.js';
import { messageOf } from '../core/errors.js';
import { listDomainChecks, loadConfig } from './parts/from-domains.js';
import { createPool } from '../db/postgres/client.js';
import { createTemporalClient } from '../temporal/connection.js';
import { apiChecks } from './doctor/api-checks.js';
import { blobChecks } from './doctor/blob-checks.js';
import { type NamedFinding, runChecks } from './doctor/check.js';
import { databaseChecks } from './doctor/database-checks.js';
import { installationChecks } from './doctor/installation-checks.js';
import { temporalChecks } from './doctor/temporal-checks.js';
import { installationOf } from './embedded/installation.js';

const CHECKS = [
  ...databaseChecks,
  ...temporalChecks,
  ...installationChecks,
  ...apiChecks,
  ...blobChecks,
  ...listDomainChecks(),
];

const MARKS = { ok: 'ok     ', warning: 'warning', problem: 'PROBLEM' } as const;

/** Examines the installation that the settings describe. */
async function examine(config: Config, url: string | undefined): Promise<NamedFinding[]> {
  const described = installationOf(config);
  const installation = { ...described, apiUrl: url ?? described.apiUrl };
  const { databaseUrl } = installation;
  const pool = databaseUrl === undefined ? undefined : createPool({ url: databaseUrl, size: 3, name: 'doctor' });
  const temporal = createTemporalClient(installation.temporal);
  return runChecks(CHECKS, { config, installation, pool, temporal, isApiNamed: url !== undefined });
}

async function findingsFor(args: string[]): Promise<NamedFinding[]> {
  try {
    const { values } = parseArgs({ args, options: { url: { type: 'string' } } });
    return await examine(loadConfig(), values.url?.replace(/\/+$/, ''));
  } catch (error) {
    const remedy = 'Correct it in the environment or in .env; .env.example says what each setting takes.';
    if (error instanceof ConfigError) {
      return error.problems.map((says) => ({ name: 'settings', level: 'problem', says, remedy }));
    }
    return [{ name: 'doctor', level: 'problem', says: messageOf(error), remedy: 'Use npm run doctor -- [--url …].' }];
  }
}

function report(findings: NamedFinding[]): void {
  const width = Math.max(...findings.map(({ name }) => name.length));
  for (const finding of findings) {
    say(`${MARKS[finding.level]}  ${finding.name.padEnd(width)}  ${finding.says}`);
    if (finding.level !== 'ok') say(`${' '.repeat(MARKS.ok.length + width + 4)}→ ${finding.remedy}`);
  }
}

async function main(): Promise<never> {
  const findings = await findingsFor(process.argv.slice(2));
  report(findings);
  const count = (level: NamedFinding['level']): number => findings.filter((each) => each.level === level).length;
  const [problems, warnings] = [count('problem'), count('warning')];
  say(JSON.stringify({ ok: problems === 0, problems, warnings, findings }));
  // The process exits without closing its connections, because a connection that hangs must not keep the doctor from
  // ending.
  return process.exit(problems === 0 ? 0 : 1);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

await main();
