import { type Logger, pino } from 'pino';

export interface LoggerOptions {
  /** Which program writes: api, worker-1, … */
  name: string;
  level: string;
}

/** JSON lines on stdout, at once: what was said just before a crash is what one looks for. */
export function createLogger({ name, level }: LoggerOptions): Logger {
  return pino({ name, level, redact: ['req.headers.authorization', 'headers.authorization'] });
}
