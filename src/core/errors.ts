import type { ErrorClass } from './error-class.js';

/** Kind → HTTP status, and whether trying again can help. */
export const KINDS = {
  invalid: { status: 400, retryable: false },
  unauthenticated: { status: 401, retryable: false },
  forbidden: { status: 403, retryable: false },
  missing: { status: 404, retryable: false },
  method: { status: 405, retryable: false },
  slow: { status: 408, retryable: true },
  conflict: { status: 409, retryable: false },
  gone: { status: 410, retryable: false },
  oversized: { status: 413, retryable: false },
  unsupported: { status: 415, retryable: false },
  limited: { status: 429, retryable: true },
  unavailable: { status: 503, retryable: true },
  bug: { status: 500, retryable: true },
} as const;
export type ErrorKind = keyof typeof KINDS;

export interface CodeRow {
  kind: ErrorKind;
  title: string;
  /** The class that a failed attempt is counted under. Without it, the class follows from the kind. */
  errorClass?: ErrorClass;
  /** Seconds after which it is worth asking again, as the API's `Retry-After` says it. */
  retryAfterSeconds?: number;
}

/** Code → kind and title. The client's answer and the runner's retries both follow from this table. A domain declares its
 *  own codes with `declareCodes`. */
export const CODES = {
  invalid_input: { kind: 'invalid', title: 'The request is not valid' },
  reason_needed: { kind: 'invalid', title: 'This decision needs a reason' },
  bad_input: { kind: 'invalid', title: 'The content cannot be processed' },
  not_signed_in: { kind: 'unauthenticated', title: 'A valid token is needed' },
  not_allowed: { kind: 'forbidden', title: 'Your role does not allow this' },
  not_found: { kind: 'missing', title: 'Not found' },
  item_unknown: { kind: 'missing', title: 'This database does not know the item' },
  method_not_allowed: { kind: 'method', title: 'This path does not take that method' },
  request_timeout: { kind: 'slow', title: 'The request took too long to arrive' },
  expired: { kind: 'gone', title: 'The time for this is over' },
  payload_too_large: { kind: 'oversized', title: 'The request is too large' },
  unsupported_media_type: { kind: 'unsupported', title: 'The body must be JSON' },
  state_conflict: { kind: 'conflict', title: 'The item is in another state now' },
  idempotency_conflict: { kind: 'conflict', title: 'This key was used with another request' },
  still_alive: { kind: 'conflict', title: 'The item is being worked on' },
  switched_off: { kind: 'conflict', title: 'The configuration has switched this off' },
  rate_limited: { kind: 'limited', title: 'Too many requests' },
  // Most items end within a minute, or wait for a person.
  too_many_live: { kind: 'limited', title: 'You have too many live items', retryAfterSeconds: 60 },
  overloaded: { kind: 'unavailable', title: 'The server is overloaded', retryAfterSeconds: 10 },
  leaving: { kind: 'unavailable', title: 'This process is being stopped', retryAfterSeconds: 1 },
  // A lock is short.
  busy: { kind: 'unavailable', title: 'Somebody else is changing this right now', retryAfterSeconds: 1 },
  keys_unavailable: {
    kind: 'unavailable',
    title: 'The keys to check tokens with cannot be fetched',
    retryAfterSeconds: 5,
  },
  // A database takes a while to start.
  database_unavailable: {
    kind: 'unavailable',
    title: 'The database does not answer',
    errorClass: 'DB_ERROR',
    retryAfterSeconds: 5,
  },
  delivery_refused: { kind: 'invalid', title: 'The receiver does not take this notification' },
  delivery_failed: { kind: 'unavailable', title: 'The notification was not delivered', errorClass: 'NETWORK_ERROR' },
  source_unavailable: { kind: 'unavailable', title: 'The source cannot be reached', errorClass: 'NETWORK_ERROR' },
  blob_exists: { kind: 'conflict', title: 'There is a blob under this key already' },
  blob_missing: { kind: 'missing', title: 'There is no such blob' },
  blob_mismatch: { kind: 'invalid', title: 'The content is not what was announced' },
  blob_store_unavailable: {
    kind: 'unavailable',
    title: 'The blob store does not answer',
    errorClass: 'STORAGE_ERROR',
    retryAfterSeconds: 5,
  },
  engine_unavailable: {
    kind: 'unavailable',
    title: 'Temporal does not answer',
    errorClass: 'NETWORK_ERROR',
    retryAfterSeconds: 5,
  },
  model_refused: { kind: 'invalid', title: 'The model does not take our requests', errorClass: 'LLM_ERROR' },
  model_declined: { kind: 'invalid', title: 'The model does not take this content' },
  model_unavailable: { kind: 'unavailable', title: 'The model gives no answer', errorClass: 'LLM_ERROR' },
  internal: { kind: 'bug', title: 'Something went wrong on our side' },
} as const satisfies Record<string, CodeRow>;
export type ErrorCode = keyof typeof CODES;

/** A code of a domain, with its row. */
export interface DeclaredCode extends CodeRow {
  code: string;
}

/** Lets a domain name its own codes: `new AppError(ITS_CODES.its_code, …)`. */
export function declareCodes<const Codes extends Record<string, CodeRow>>(
  codes: Codes,
): { readonly [Code in keyof Codes]: DeclaredCode } {
  const declared = Object.entries(codes).map(([code, row]) => [code, { ...row, code }]);
  return Object.fromEntries(declared) as { [Code in keyof Codes]: DeclaredCode };
}

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
  readonly code: string;
  readonly kind: ErrorKind;
  readonly title: string;
  readonly retryAfterSeconds: number | undefined;
  readonly errors: readonly FieldError[] | undefined;
  readonly facts: Readonly<Record<string, unknown>> | undefined;
  readonly errorClass: ErrorClass;

  constructor(code: ErrorCode | DeclaredCode, message: string, options: AppErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    const row: CodeRow = typeof code === 'string' ? CODES[code] : code;
    this.code = typeof code === 'string' ? code : code.code;
    this.kind = row.kind;
    this.title = row.title;
    this.retryAfterSeconds = row.retryAfterSeconds;
    this.errors = options.errors;
    this.facts = options.facts;
    this.errorClass = options.errorClass ?? row.errorClass ?? (KINDS[this.kind].retryable ? 'UNKNOWN' : 'BAD_INPUT');
  }
}

export function isAppError(error: unknown): error is AppError {
  return error instanceof AppError;
}

/** The time that the failed service asked us to wait. */
export function askedWaitMs(error: unknown): number {
  const asked = isAppError(error) ? error.facts?.['retryAfterMs'] : undefined;
  return typeof asked === 'number' ? asked : 0;
}

/** Whether a failed attempt is worth another: only an AppError can say no. */
export function isRetryable(error: unknown): boolean {
  return !isAppError(error) || KINDS[error.kind].retryable;
}

/** The message of a thrown value. Connecting to a name with several addresses throws an AggregateError that has an error
 *  for each address and no message of its own. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join(', ');
  return error instanceof Error ? error.message : String(error);
}
