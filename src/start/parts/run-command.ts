import { asksForHelp } from './asks-for-help.js';
import { closingSentenceOf } from './closing-sentence.js';

type Say = (line: string) => void;

/** The end of a command that did its part. */
export interface CommandEnd {
  lines: readonly string[];
  /** For scripts, as one line of JSON. */
  figures: Readonly<Record<string, unknown>>;
  exitCode: number;
}

interface TerminalCommand {
  name: string;
  usage: string;
  /** Throws an error with a sentence if the command could not do its part. */
  run(args: string[], say: Say): Promise<CommandEnd>;
}

/** The command could not do its part. */
const EXIT_NOT_DONE = 3;

/** Runs a command for a person at a terminal. The last line is JSON, whatever happens. */
export async function runCommand({ name, usage, run }: TerminalCommand): Promise<void> {
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
    const sentence = closingSentenceOf(error, name);
    process.stderr.write(`${sentence}\n`);
    say(JSON.stringify({ ok: false, problem: sentence }));
    process.exitCode = EXIT_NOT_DONE;
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
