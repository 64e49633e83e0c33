import { inspect } from 'node:util';
import { type Installation, startInstallation } from '../support/installation.js';

export interface Judged {
  /** The last thing that a person reads. */
  table: string;
  /** The last line of all, for programs. */
  figures: { passed: boolean };
}

type Say = (line: string) => void;

/** Runs one campaign against an installation of its own and ends the process: exit code 1 if anything was found, and then logs
 *  and data are kept. */
export function runCommand(
  settings: Record<string, string>,
  campaign: (installation: Installation, say: Say) => Promise<Judged>,
): void {
  judge(settings, campaign).then(
    (passed) => process.exit(passed ? 0 : 1),
    (error: unknown) => {
      say(JSON.stringify({ passed: false, error: inspect(error) }));
      process.exit(1);
    },
  );
}

async function judge(
  settings: Record<string, string>,
  campaign: (installation: Installation, say: Say) => Promise<Judged>,
): Promise<boolean> {
  say('starting an installation');
  const installation = await startInstallation(settings);
  let passed = false;
  try {
    const { table, figures } = await campaign(installation, say);
    ({ passed } = figures);
    say(table);
    if (!passed) say(`logs and data are kept in ${installation.folder}`);
    say(JSON.stringify(figures));
  } finally {
    await installation.stop(passed ? undefined : 'keep the folder');
  }
  return passed;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
