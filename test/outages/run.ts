import { parseArgs } from 'node:util';
import { startInstallation } from '../support/installation.js';
import { keepTemporalAway, type OutageReport } from './temporal-away.js';

/** Starts an installation of its own, takes Temporal away for so many minutes, and prints what that cost, as its last line; exit
 *  code 1 if it cost anything but time. */
async function main(): Promise<boolean> {
  const { values } = parseArgs({
    options: { minutes: { type: 'string', default: '3' }, items: { type: 'string', default: '10' } },
  });
  const installation = await startInstallation();
  let isFree = false;
  try {
    const awayMs = Number(values.minutes) * 60_000;
    const report = await keepTemporalAway(installation, { awayMs, items: Number(values.items), say });
    isFree = costNothing(report);
    if (!isFree) say(`logs and data are kept in ${installation.folder}`);
    say(JSON.stringify({ passed: isFree, ...report }));
  } finally {
    await installation.stop(isFree ? undefined : 'keep the folder');
  }
  return isFree;
}

function costNothing(report: OutageReport): boolean {
  const { items, done, doubled, missing, rescues, restarted, errors, crashes, finishedAgain } = report;
  return done === items && doubled + missing + rescues + restarted + errors + crashes + finishedAgain.length === 0;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

main().then(
  (isFree) => process.exit(isFree ? 0 : 1),
  (error: unknown) => {
    say(JSON.stringify({ passed: false, error: error instanceof Error ? error.stack : String(error) }));
    process.exit(1);
  },
);
