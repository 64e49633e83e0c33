import { isAppError } from './errors.js';

/** The error taxonomy of the specification. SCAN_TIMEOUT is its word for every timeout, also of stages that scan
 *  nothing. WORKER_CRASH is the class of attempts whose worker died or fell silent; they spend no try. */
export const ERROR_CLASSES = [
  'SCAN_TIMEOUT',
  'NETWORK_ERROR',
  'DB_ERROR',
  'LLM_ERROR',
  'STORAGE_ERROR',
  'BAD_INPUT',
  'WORKER_CRASH',
  'UNKNOWN',
] as const;
export type ErrorClass = (typeof ERROR_CLASSES)[number];

/** Error names that decide the class alone. Names and not `instanceof`, because an error may come from another copy of
 *  a package. */
const CLASS_OF_NAME: ReadonlyMap<string, ErrorClass> = new Map([
  ['TimeoutError', 'SCAN_TIMEOUT'],
  ['StageTimeout', 'SCAN_TIMEOUT'],
  ['TimeoutFailure', 'SCAN_TIMEOUT'],
  ['FetchError', 'NETWORK_ERROR'],
  ['DatabaseError', 'DB_ERROR'],
  ['DriverAdapterError', 'DB_ERROR'],
  ['PrismaClientKnownRequestError', 'DB_ERROR'],
  ['PrismaClientUnknownRequestError', 'DB_ERROR'],
  ['PrismaClientInitializationError', 'DB_ERROR'],
  ['PrismaClientRustPanicError', 'DB_ERROR'],
  ['PrismaClientValidationError', 'DB_ERROR'],
  ['RestError', 'STORAGE_ERROR'], // Azure
  ['S3ServiceException', 'STORAGE_ERROR'],
  ['NoSuchBucket', 'STORAGE_ERROR'],
  ['NoSuchKey', 'STORAGE_ERROR'],
]);

/** The names of all errors of the AI SDK. Whatever their cause, a call that a model did not answer is an LLM_ERROR. */
const LLM_NAME = /^AI_\w+Error$/;

const NETWORK_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ETIMEDOUT',
  'UND_ERR_SOCKET',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_CLOSED',
  'UND_ERR_DESTROYED',
  'UND_ERR_ABORTED',
]);

/** A disk that is full, broken, read-only or over its quota. A missing file is not among them, because it may be
 *  anybody's fault. */
const STORAGE_CODES = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'EIO']);

/** The last resort, for errors that lost their type on the way. More particular classes come first. The second line of
 *  database words holds the messages, without a code, that `pg` gives for a connection that it lost or never got. */
const CLASS_OF_MESSAGE: readonly (readonly [RegExp, ErrorClass])[] = [
  [/\b(prisma|postgres(ql)?|deadlock detected|relation "[^"]*" does not exist)\b/i, 'DB_ERROR'],
  [/\b(connection terminated|is not queryable|timeout exceeded when trying to connect)\b/i, 'DB_ERROR'],
  [/\b(llm|model (is )?overloaded|overloaded_error|chat completions?)\b/i, 'LLM_ERROR'],
  [/\b(blob|bucket|container not found)\b/i, 'STORAGE_ERROR'],
  [/\bheartbeat timeout\b/i, 'WORKER_CRASH'],
  [/\b(timed? ?out|deadline([ _]exceeded)?)\b/i, 'SCAN_TIMEOUT'],
  [/\b(fetch failed|socket|network|dns|getaddrinfo|connection (refused|reset))\b/i, 'NETWORK_ERROR'],
];

/** The number of causes that are looked at. It is bounded, because a cycle of causes must not hang the runner. */
const MAX_CAUSES = 5;

/** The type decides: of the error first, then of its causes. An AbortError says little, because the reason of the abort
 *  is often its cause, so it comes after all other types. Messages come last. */
export function classifyError(error: unknown): ErrorClass {
  const chain = causesOf(error);
  const byType = chain.map(classOfType).find((found) => found !== undefined);
  if (byType) return byType;
  if (chain.some((each) => each.name === 'AbortError')) return 'NETWORK_ERROR';
  const text = chain.map((each) => each.message).join('\n');
  return CLASS_OF_MESSAGE.find(([pattern]) => pattern.test(text))?.[1] ?? 'UNKNOWN';
}

interface Fault {
  name: unknown;
  message: string;
  code: unknown;
  isFromServer: boolean;
  own: ErrorClass | undefined;
}

/** Reads fields and not `instanceof`, because an error that crossed a thread or process boundary is a plain object. */
function causesOf(error: unknown): Fault[] {
  const chain: Fault[] = [];
  let at = error;
  while (chain.length < MAX_CAUSES) {
    if (typeof at === 'string') at = { message: at };
    if (typeof at !== 'object' || at === null) break;
    const { name, message, code, cause } = at as Readonly<Record<string, unknown>>;
    chain.push({
      name,
      message: typeof message === 'string' ? message : '',
      code,
      isFromServer: 'severity' in at,
      own: isAppError(at) ? at.errorClass : undefined,
    });
    at = cause;
  }
  return chain;
}

function classOfType({ own, name, code, isFromServer }: Fault): ErrorClass | undefined {
  // An AppError without a class of its own: its cause may say more.
  if (own) return own === 'UNKNOWN' ? undefined : own;
  const byName = typeof name === 'string' ? CLASS_OF_NAME.get(name) : undefined;
  if (byName) return byName;
  if (typeof name === 'string' && LLM_NAME.test(name)) return 'LLM_ERROR';
  if (typeof code === 'string' && NETWORK_CODES.has(code)) return 'NETWORK_ERROR';
  if (typeof code === 'string' && STORAGE_CODES.has(code)) return 'STORAGE_ERROR';
  // A Postgres server reports a five-character SQLSTATE and a severity, in an error named `error`.
  const isSqlState = typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code);
  return (isSqlState && isFromServer) || name === 'error' ? 'DB_ERROR' : undefined;
}
