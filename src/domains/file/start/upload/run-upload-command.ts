import { asksForHelp } from '../../../../start/parts/asks-for-help.js';
import { closingSentenceOf } from '../../../../start/parts/closing-sentence.js';

/** The command could not do its part. */
const EXIT_NOT_DONE = 3;

export interface CommandEnd {
  lines: readonly string[];
  /** For scripts, as one line of JSON. */
  figures: Readonly<Record<string, unknown>>;
  exitCode: number;
}

/** Runs the command for a person at a terminal. The last line is JSON, whatever happens. (To be replaced by the runner that all commands
 *  share, `start/parts/run-command.ts`, once it is merged.) */
export async function runUploadCommand(
  usage: string,
  run: (args: string[], say: (line: string) => void) => Promise<CommandEnd>,
): Promise<void> {
  const args = process.argv.slice(2);
  if (asksForHelp(args)) {
    say(usage);
    return;
  }
  try {
    const { lines, figures, exitCode } = await run(args, say);
    for (const line of lines) say(line);
    say(JSON.stringify(figures));
    process.exitCode = exitCode;
  } catch (error) {
    const sentence = closingSentenceOf(error, 'upload');
    process.stderr.write(`${sentence}\n`);
    say(JSON.stringify({ ok: false, problem: sentence }));
    process.exitCode = EXIT_NOT_DONE;
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
