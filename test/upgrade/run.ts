import { parseArgs } from 'node:util';
import { tableOf } from './table.js';
import { prepareUpgrade } from './upgrade.js';

/** A rolling upgrade under traffic: starts an installation, keeps canaries in flight, puts a changed build in the place of
 *  the one that runs, and stops the old one in order. Prints a table and, as its last line, the figures; exit code 1 if a
 *  canary was lost, done twice or rescued, or a request failed. */
async function main(): Promise<boolean> {
  const { values } = parseArgs({
    options: {
      canaries: { type: 'string', default: '200' },
      'stage-ms': { type: 'string', default: '8000' },
      seconds: { type: 'string', default: '300' },
      shared: { type: 'boolean', default: false },
    },
  });
  const [canaries, slowestStageMs, seconds] = [values.canaries, values['stage-ms'], values.seconds].map(Number) as [
    number,
    number,
    number,
  ];
  say(`starting an installation, and building the next version; ${String(canaries)} canaries`);
  const upgrade = await prepareUpgrade();
  let passed = false;
  try {
    const report = await upgrade.run({
      canaries,
      slowestStageMs,
      isShared: values.shared,
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
