import { commandOptions } from '../audit/command-options.js';
import { startInstallation } from '../support/installation.js';
import { openField } from './field.js';
import { GROUPS } from './groups.js';
import { reportOf, tableOf } from './matrix.js';
import { type Played, playGroup } from './play.js';
import { SETTINGS } from './settings.js';

/** Makes every reason there is on an installation of its own, asks why, and checks what was said and done. Prints the confusion
 *  matrix and, as its last line, the figures; exit code 1 if anything was wrong. `--only` plays the groups whose name has one of
 *  the words given, with commas between them. */
async function main(): Promise<boolean> {
  const { only } = commandOptions(
    'faults',
    'Makes every reason there is, and checks what is said and done; some seven minutes. --only: groups with one of these words.',
    { only: '' },
  );
  const groups = GROUPS.filter(({ name }) => only.split(',').some((part) => name.includes(part)));
  say('starting an installation');
  const began = Date.now();
  const installation = await startInstallation(SETTINGS);
  const field = await openField(installation);
  let passed = false;
  try {
    const played: Played[] = [];
    for (const group of groups) {
      say(`${seconds(began)} s: ${group.name}`);
      await installation.ready();
      played.push(...(await playGroup(field, group)));
    }
    const report = reportOf(played);
    ({ passed } = report);
    say(tableOf(report));
    if (!passed) say(`logs and data are kept in ${installation.folder}`);
    say(JSON.stringify({ ...report, seconds: Number(seconds(began)) }));
  } finally {
    await field.close();
    await installation.stop(passed ? undefined : 'keep the folder');
  }
  return passed;
}

function seconds(since: number): string {
  return ((Date.now() - since) / 1_000).toFixed(1);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

main().then(
  (passed) => process.exit(passed ? 0 : 1),
  (error: unknown) => {
    say(JSON.stringify({ passed: false, error: error instanceof Error ? error.stack : String(error) }));
    process.exit(1);
  },
);
