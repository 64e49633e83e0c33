import { ConfigError } from '../../config.js';
import { StartError } from '../embedded/start-error.js';

/** An error that the operator can mend is printed as one sentence. Any other error is a bug and is printed with its
 *  stack, behind the name of the command that it ended. */
export function closingSentenceOf(error: unknown, command: string): string {
  if (error instanceof StartError || error instanceof ConfigError) return error.message;
  return `${command}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
}
