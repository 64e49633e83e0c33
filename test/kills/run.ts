import { parseArgs } from 'node:util';
import { startInstallation } from '../support/installation.js';
import { runKills } from './kill-run.js';
import { tableOf } from './report.js';

/** Nothing lost, nothing twice: starts an installation of its own, keeps canaries in flight and kills every part of it in
 *  turn. Prints a table and, as its last line, the figures; exit code 1 if anything was lost, doubled or stuck. */
async function main(): Promise<boolean> {
  const { values } = parseArgs({
    options: {
      canaries: { type: 'string', default: '200' },
      seconds: { type: 'string', default: '330' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    },
  });
  const [canaries, seed, seconds] = [values.canaries, values.seed, values.seconds].map(Number) as [
    number,
    number,
    number,
  ];
  say(`starting an installation; ${String(canaries)} canaries, seed ${String(seed)}`);
  const installation = await startInstallation();
  let passed = false;
  try {
    const report = await runKills(installation, { canaries, seed, limitMs: seconds * 1_000, say });
    ({ passed } = report);
    say(tableOf(report));
    if (!passed) say(`logs and data are kept in ${installation.folder}`);
    say(JSON.stringify({ canaries, seed, ...report }));
  } finally {
    await installation.stop(passed ? undefined : 'keep the folder');
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
