import { StartError } from '../embedded/start-error.js';

/** This process must not work on this database in this namespace, or not under this name. Starting it again can't help. */
export class RefusedError extends StartError {
  constructor(problem: string) {
    super(`cannot start: ${problem}`);
  }
}
