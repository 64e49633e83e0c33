import { commandOptions } from '../audit/command-options.js';
import { tableOf } from './table.js';
import { prepareUpgrade } from './upgrade.js';

/** A rolling upgrade under traffic: starts an installation, keeps canaries in flight, puts a changed build in the place of
 *  the one that runs, and stops the old one in order. Prints a table and, as its last line, the figures; exit code 1 if a
 *  canary was lost, done twice or rescued, or a request failed. */
async function main(): Promise<boolean> {
  const given = commandOptions(
    'upgrade',
    'Puts a changed build in the place of the one that runs, under traffic; some two minutes. --shared: others use the machine too.',
    { canaries: 200, 'stage-ms': 8_000, seconds: 300, shared: false },
  );
  const { canaries, 'stage-ms': slowestStageMs, seconds } = given;
  say(`starting an installation, and building the next version; ${String(canaries)} canaries`);
  const upgrade = await prepareUpgrade();
  let passed = false;
  try {
    const report = await upgrade.run({
      canaries,
      slowestStageMs,
      isShared: given.shared,
      limitMs: seconds * 1_000,
      say,
    });
    ({ passed } = report);
    say(tableOf(report));
    if (!passed) say(`logs and data are kept in ${upgrade.installation.folder}`);
    say(JSON.stringify({ canaries, ...report }));
  } finally {
    await upgrade.close(passed ? undefined : 'keep the folder');
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
