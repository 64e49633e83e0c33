/** A fault of the database rather than of the failed query. */
export type DatabaseFault =
  /** The server is unreachable, starting, or out of connections. */
  | 'away'
  /** Another session held a lock for too long, or a deadlock was broken. The same request may well succeed later. */
  | 'busy'
  /** Text that Postgres cannot store: a NUL byte, half a surrogate pair. */
  | 'unstorable';

const FAULT_OF_STATE: Readonly<Record<string, DatabaseFault>> = {
  '53300': 'away',
  '57P01': 'away',
  '57P02': 'away',
  '57P03': 'away',
  '25P03': 'busy',
  '40001': 'busy',
  '40P01': 'busy',
  '55P03': 'busy',
  '57014': 'busy',
  '22021': 'unstorable',
  '22P05': 'unstorable',
};

/** Node's codes, Prisma's codes and its adapter's kinds for a server that cannot be reached. */
const AWAY = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND', 'EAI_AGAIN'],
  ...['P1001', 'P1002', 'P1008', 'P1017', 'P2024', 'P2028'],
  ...['DatabaseNotReachable', 'ConnectionClosed', 'SocketTimeout', 'TooManyConnections'],
]);

/** `pg` reports these without a code. */
const AWAY_MESSAGE =
  /connection terminated|timeout exceeded when trying to connect|connection error and is not queryable|connection timeout|query read timeout|cannot use a pool after/i;

/** Null: the query itself is at fault, or the error is not from a database. */
export function databaseFaultOf(error: unknown): DatabaseFault | null {
  for (const code of codesOf(error)) {
    const fault = AWAY.has(code) || code.startsWith('08') ? 'away' : FAULT_OF_STATE[code];
    if (fault) return fault;
  }
  return error instanceof Error && AWAY_MESSAGE.test(error.message) ? 'away' : null;
}

/** Whether the database, and not the statement, is at fault: the same statement may well succeed later. */
export function isTransient(error: unknown): boolean {
  const fault = databaseFaultOf(error);
  return fault === 'away' || fault === 'busy';
}

/** The codes that an error carries. `pg` puts a code on the error; Prisma hides the driver's code inside its own
 *  error. */
function codesOf(error: unknown): string[] {
  const meta = fieldOf(error, 'meta');
  const driver = fieldOf(fieldOf(meta, 'driverAdapterError'), 'cause');
  const own = fieldOf(error, 'cause');
  return [
    fieldOf(driver, 'originalCode'),
    fieldOf(driver, 'kind'),
    fieldOf(own, 'originalCode'),
    fieldOf(own, 'kind'),
    fieldOf(own, 'code'),
    fieldOf(error, 'code'),
  ].filter((code) => typeof code === 'string');
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && name in value
    ? (value as Record<string, unknown>)[name]
    : undefined;
}
