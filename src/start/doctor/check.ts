import type { Client } from '@temporalio/client';
import type pg from 'pg';
import { giveUpAfter } from '../../api/items/engine-health.js';
import type { Config } from '../../config.js';
import { messageOf } from '../../core/errors.js';
import type { Installation } from '../embedded/installation.js';

/** The result of a check. A warning or a problem says what to do about it. */
export type Finding = { level: 'ok'; says: string } | { level: 'warning' | 'problem'; says: string; remedy: string };

export interface Patient {
  config: Config;
  installation: Installation;
  /** Undefined: the embedded Postgres, and it was never started here. */
  pool: pg.Pool | undefined;
  temporal: Client;
  /** The API's address was given and not guessed from the settings. */
  isApiNamed: boolean;
}

export interface Check {
  name: string;
  /** An earlier check. If it finds a problem, this check makes no sense and is not made. */
  needs?: string;
  /** Instead of CHECK_LIMIT_MS, where a sound part may take longer. */
  limitMs?: number;
  run(patient: Patient): Promise<Finding> | Finding;
}

export type NamedFinding = { name: string } & Finding;

/** The limit of a check that names no limit of its own. A sound part answers in milliseconds. */
const CHECK_LIMIT_MS = 5_000;

/** Runs every check independently. A check that fails or hangs is a finding, and the other checks are made all the
 *  same. */
export async function runChecks(
  checks: readonly Check[],
  patient: Patient,
  limitMs = CHECK_LIMIT_MS,
): Promise<NamedFinding[]> {
  const made = new Map<string, Promise<Made>>();
  for (const check of checks) made.set(check.name, make(check));
  return (await Promise.all(made.values())).map(({ finding }) => finding);

  async function make({ name, needs, run, limitMs: own = limitMs }: Check): Promise<Made> {
    const needed = needs === undefined ? undefined : await made.get(needs);
    if (needed?.blockedBy !== undefined) return notMade(name, needed.blockedBy);
    const finding = { name, ...(await runBounded(() => run(patient), own)) };
    return { finding, blockedBy: finding.level === 'problem' ? name : undefined };
  }
}

interface Made {
  finding: NamedFinding;
  /** The check whose problem makes all checks useless that need this check. */
  blockedBy: string | undefined;
}

function notMade(name: string, blockedBy: string): Made {
  const finding = reportWarning(`Not checked, because '${blockedBy}' has a problem.`, 'Solve that one first.');
  return { finding: { name, ...finding }, blockedBy };
}

export function reportOk(says: string): Finding {
  return { level: 'ok', says };
}

export function reportWarning(says: string, remedy: string): Finding {
  return { level: 'warning', says, remedy };
}

export function reportProblem(says: string, remedy: string): Finding {
  return { level: 'problem', says, remedy };
}

async function runBounded(run: () => Promise<Finding> | Finding, limitMs: number): Promise<Finding> {
  try {
    return await giveUpAfter(limitMs, Promise.resolve(run()));
  } catch (error) {
    return reportProblem(
      `Could not be checked: ${messageOf(error)}.`,
      'See whether that part is overloaded, and its logs.',
    );
  }
}
