import { type Logger, pino } from 'pino';

export interface LoggerOptions {
  /** The program that writes: api, worker-1, … */
  name: string;
  level: string;
}

/** Writes JSON lines to stdout without a buffer, because the lines just before a crash matter most. */
export function createLogger({ name, level }: LoggerOptions): Logger {
  return pino({ name, level, redact: ['req.headers.authorization', 'headers.authorization'] });
}
