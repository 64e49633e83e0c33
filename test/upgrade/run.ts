import { commandOptions } from '../audit/command-options.js';
import { prepareUpgradeFrom } from './from-older.js';
import { tableFrom } from './from-older-report.js';
import { ABOUT, OPTIONS } from './options.js';
import type { RolloutOptions } from './rollout.js';
import { tableOf } from './table.js';
import { prepareUpgrade, type Upgrade } from './upgrade.js';

/** A rolling upgrade under traffic: starts an installation, keeps canaries in flight, puts another build in the place of the
 *  one that runs, and stops the old processes in order. The other build is the present one with changes, or with --from the
 *  present one in the place of an older commit. Prints a table and, as its last line, the figures; exit code 1 if a canary was
 *  lost, done twice or rescued, or a request failed. */
async function main(): Promise<boolean> {
  const given = commandOptions('upgrade', ABOUT, OPTIONS);
  const { canaries, from } = given;
  const options = {
    canaries,
    slowestStageMs: given['stage-ms'],
    isShared: given.shared,
    limitMs: given.seconds * 1_000,
    say,
  };
  if (from !== '') return runFrom(from, options);
  say(`starting an installation, and building the next version; ${canaries} canaries`);
  const upgrade = await prepareUpgrade();
  return judge(upgrade, async () => {
    const report = await upgrade.run(options);
    return { table: tableOf(report), figures: { canaries, ...report } };
  });
}

async function runFrom(from: string, options: RolloutOptions): Promise<boolean> {
  const older = await prepareUpgradeFrom(from, say);
  if ('skipped' in older) {
    say(`skipped: ${older.skipped}`);
    say(JSON.stringify({ from, skipped: older.skipped }));
    return true;
  }
  return judge(older, async () => {
    const report = await older.run(options);
    return { table: tableFrom(report), figures: { canaries: options.canaries, ...report } };
  });
}

async function judge(
  { installation, close }: Pick<Upgrade, 'installation' | 'close'>,
  run: () => Promise<{ table: string; figures: { passed: boolean } }>,
): Promise<boolean> {
  let passed = false;
  try {
    const { table, figures } = await run();
    ({ passed } = figures);
    say(table);
    if (!passed) say(`logs and data are kept in ${installation.folder}`);
    say(JSON.stringify(figures));
  } finally {
    await close(passed ? undefined : 'keep the folder');
  }
  return passed;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

main().then(
  (passed) => process.exit(passed ? 0 : 1),
  (error: unknown) => {
    say(
      JSON.stringify({ passed: false, error: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
    );
    process.exit(1);
  },
);
