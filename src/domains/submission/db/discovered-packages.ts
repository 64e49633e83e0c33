import type { PackageOutcome } from '../core/address/discovery.js';
import type { Sql } from '../../../ports/sql.js';

interface PackageVersion {
  name: string;
  version: string;
}

/** A package that could not be reached is tried again after this time. */
const AGAIN_AFTER = `interval '1 day'`;

/** The packages whose version was not examined before. */
export async function listFresh<Package extends PackageVersion>(
  sql: Sql,
  packages: readonly Package[],
): Promise<Package[]> {
  const { rows } = await sql.query<PackageVersion>(
    `SELECT name, version FROM discovered_packages
     JOIN unnest($1::text[], $2::text[]) AS asked (name, version) USING (name, version)
     WHERE outcome <> 'unreachable' OR found_at > now() - ${AGAIN_AFTER}`,
    [packages.map(({ name }) => name), packages.map(({ version }) => version)],
  );
  const known = new Set(rows.map(keyOf));
  return packages.filter((each) => !known.has(keyOf(each)));
}

/** Stores the outcome of a version. False: another transaction stored one before, so this transaction must be rolled
 *  back. */
export async function settlePackage(
  transaction: Sql,
  { name, version }: PackageVersion,
  { repoUrl, outcome }: { repoUrl: string | null; outcome: PackageOutcome },
): Promise<boolean> {
  const { rowCount } = await transaction.query(
    `INSERT INTO discovered_packages AS d (name, version, repo_url, outcome) VALUES ($1, $2, $3, $4)
     ON CONFLICT (name, version) DO UPDATE SET repo_url = excluded.repo_url, outcome = excluded.outcome, found_at = now()
     WHERE d.outcome = 'unreachable'`,
    [name, version, repoUrl, outcome],
  );
  return rowCount === 1;
}

/** Replaces the outcome with the final one, in the transaction that settled the package. */
export async function storeOutcome(
  transaction: Sql,
  { name, version }: PackageVersion,
  outcome: PackageOutcome,
): Promise<void> {
  await transaction.query('UPDATE discovered_packages SET outcome = $3 WHERE name = $1 AND version = $2', [
    name,
    version,
    outcome,
  ]);
}

/** Names of the packages of this repository, in order, at most `limit`. */
export async function listPackagesOf(sql: Sql, repoUrl: string, limit: number): Promise<string[]> {
  const { rows } = await sql.query<{ name: string }>(
    'SELECT DISTINCT name FROM discovered_packages WHERE repo_url = $1 ORDER BY name LIMIT $2',
    [repoUrl, limit],
  );
  return rows.map(({ name }) => name);
}

function keyOf({ name, version }: PackageVersion): string {
  return `${name}@${version}`;
}
