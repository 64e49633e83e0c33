import type { ErrorClass } from './error-class.js';

/** Kind → what HTTP answers and whether trying again can help. */
export const KINDS = {
  invalid: { status: 400, retryable: false },
  unauthenticated: { status: 401, retryable: false },
  forbidden: { status: 403, retryable: false },
  missing: { status: 404, retryable: false },
  method: { status: 405, retryable: false },
  slow: { status: 408, retryable: true },
  conflict: { status: 409, retryable: false },
  oversized: { status: 413, retryable: false },
  unsupported: { status: 415, retryable: false },
  limited: { status: 429, retryable: true },
  unavailable: { status: 503, retryable: true },
  bug: { status: 500, retryable: true },
} as const;
export type ErrorKind = keyof typeof KINDS;

interface CodeRow {
  kind: ErrorKind;
  title: string;
  /** The class a failed attempt is counted under; without one it follows from the kind. */
  errorClass?: ErrorClass;
}

/** Code → kind and title. One table: what a client sees and what the runner does follow from it. */
export const CODES = {
  invalid_input: { kind: 'invalid', title: 'The request is not valid' },
  reason_needed: { kind: 'invalid', title: 'This decision needs a reason' },
  bad_input: { kind: 'invalid', title: 'The content cannot be processed' },
  not_signed_in: { kind: 'unauthenticated', title: 'A valid token is needed' },
  not_allowed: { kind: 'forbidden', title: 'Your role does not allow this' },
  not_found: { kind: 'missing', title: 'There is no such thing' },
  method_not_allowed: { kind: 'method', title: 'This path does not take that method' },
  request_timeout: { kind: 'slow', title: 'The request took too long to arrive' },
  payload_too_large: { kind: 'oversized', title: 'The request is too large' },
  unsupported_media_type: { kind: 'unsupported', title: 'The body must be JSON' },
  state_conflict: { kind: 'conflict', title: 'The item is elsewhere by now' },
  idempotency_conflict: { kind: 'conflict', title: 'This key was used with another request' },
  still_alive: { kind: 'conflict', title: 'The item is being worked on' },
  rate_limited: { kind: 'limited', title: 'Too many requests' },
  too_many_live: { kind: 'limited', title: 'Too many of yours are on their way' },
  overloaded: { kind: 'unavailable', title: 'The server is overloaded' },
  leaving: { kind: 'unavailable', title: 'This process is being stopped' },
  busy: { kind: 'unavailable', title: 'Somebody else is changing this right now' },
  keys_unavailable: { kind: 'unavailable', title: 'The keys to check tokens with cannot be fetched' },
  database_unavailable: { kind: 'unavailable', title: 'The database does not answer', errorClass: 'DB_ERROR' },
  delivery_refused: { kind: 'invalid', title: 'The receiver does not take this notification' },
  delivery_failed: { kind: 'unavailable', title: 'The notification was not delivered', errorClass: 'NETWORK_ERROR' },
  source_unavailable: { kind: 'unavailable', title: 'The repository cannot be reached', errorClass: 'NETWORK_ERROR' },
  scan_timeout: { kind: 'unavailable', title: 'The scan took too long', errorClass: 'SCAN_TIMEOUT' },
  scan_failed: { kind: 'unavailable', title: 'The scan did not finish' },
  engine_unavailable: { kind: 'unavailable', title: 'Temporal does not answer', errorClass: 'NETWORK_ERROR' },
  judge_refused: { kind: 'invalid', title: 'The judge does not take our requests', errorClass: 'LLM_ERROR' },
  judge_declined: { kind: 'invalid', title: 'The judge cannot judge this content' },
  judge_unavailable: { kind: 'unavailable', title: 'The judge gives no answer', errorClass: 'LLM_ERROR' },
  internal: { kind: 'bug', title: 'Something went wrong on our side' },
} as const satisfies Record<string, CodeRow>;
export type ErrorCode = keyof typeof CODES;

export interface FieldError {
  path: string;
  message: string;
}

export interface AppErrorOptions {
  cause?: unknown;
  errors?: readonly FieldError[];
  /** More particular than the code's own. */
  errorClass?: ErrorClass;
  /** More members of the problem document: the state an item is in, its diagnosis. */
  facts?: Readonly<Record<string, unknown>>;
}

export class AppError extends Error {
  override readonly name = 'AppError';
  readonly kind: ErrorKind;
  readonly errors: readonly FieldError[] | undefined;
  readonly facts: Readonly<Record<string, unknown>> | undefined;
  readonly errorClass: ErrorClass;

  constructor(
    readonly code: ErrorCode,
    message: string,
    options: AppErrorOptions = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    const row: CodeRow = CODES[code];
    this.kind = row.kind;
    this.errors = options.errors;
    this.facts = options.facts;
    this.errorClass = options.errorClass ?? row.errorClass ?? (KINDS[this.kind].retryable ? 'UNKNOWN' : 'BAD_INPUT');
  }
}

export function isAppError(error: unknown): error is AppError {
  return error instanceof AppError;
}

/** How long whoever failed asked to be left alone. */
export function askedWaitMs(error: unknown): number {
  const asked = isAppError(error) ? error.facts?.['retryAfterMs'] : undefined;
  return typeof asked === 'number' ? asked : 0;
}

/** Whether a failed attempt is worth another: only an AppError can say no. */
export function isRetryable(error: unknown): boolean {
  return !isAppError(error) || KINDS[error.kind].retryable;
}
