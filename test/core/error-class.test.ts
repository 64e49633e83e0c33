import { describe, expect, it } from 'vitest';
import { classifyError, ERROR_CLASSES } from '../../src/core/error-class.js';
import { AppError } from '../../src/core/errors.js';

function named(name: string, message = 'x', more: object = {}): Error {
  return Object.assign(new Error(message), { name, ...more });
}

function coded(code: unknown, message = 'x', more: object = {}): Error {
  return Object.assign(new Error(message), { code, ...more });
}

function caused(message: string, cause: unknown): Error {
  return new Error(message, { cause });
}

describe('the class of an error', () => {
  it.each([
    ['a stage that took too long', named('StageTimeout'), 'SCAN_TIMEOUT'],
    ['a timeout of AbortSignal', new DOMException('x', 'TimeoutError'), 'SCAN_TIMEOUT'],
    ["the engine's timeout", named('TimeoutFailure'), 'SCAN_TIMEOUT'],
    ['an aborted call', new DOMException('x', 'AbortError'), 'NETWORK_ERROR'],
    ['a refused connection', coded('ECONNREFUSED'), 'NETWORK_ERROR'],
    ['a name that does not resolve', coded('ENOTFOUND'), 'NETWORK_ERROR'],
    ['a socket of undici', coded('UND_ERR_SOCKET'), 'NETWORK_ERROR'],
    ['a Postgres server', named('error', 'x', { code: '23505', severity: 'ERROR' }), 'DB_ERROR'],
    ['a Postgres server under another name', coded('57P01', 'x', { severity: 'FATAL' }), 'DB_ERROR'],
    ['a message of the Postgres protocol', named('error'), 'DB_ERROR'],
    ['Prisma', named('PrismaClientKnownRequestError', 'x', { code: 'P2002' }), 'DB_ERROR'],
    ["Prisma's adapter", named('DriverAdapterError'), 'DB_ERROR'],
    ['a model that does not answer', named('AI_APICallError', 'x', { cause: coded('ECONNREFUSED') }), 'LLM_ERROR'],
    ['a model that answers nonsense', named('AI_NoObjectGeneratedError'), 'LLM_ERROR'],
    ['a blob of Azure', named('RestError', 'x', { code: 'BlobNotFound' }), 'STORAGE_ERROR'],
    ['a blob of S3', named('NoSuchKey'), 'STORAGE_ERROR'],
    ['a full disk', coded('ENOSPC'), 'STORAGE_ERROR'],
    ['a file that is not there', coded('ENOENT'), 'UNKNOWN'],
    ['a request that undici aborted', coded('UND_ERR_ABORTED'), 'NETWORK_ERROR'],
    ['content that cannot be processed', new AppError('bad_input', 'x'), 'BAD_INPUT'],
    ['the database away', new AppError('database_unavailable', 'x'), 'DB_ERROR'],
    ["an adapter's own word", new AppError('internal', 'x', { errorClass: 'STORAGE_ERROR' }), 'STORAGE_ERROR'],
    ['a five-letter code without a severity', coded('E2BIG'), 'UNKNOWN'],
    ['a severity without a code of the server', coded('EFORMAT', 'x', { severity: 'high' }), 'UNKNOWN'],
    ['a numeric code', coded(23505), 'UNKNOWN'],
  ] as const)('%s', (_what, error, expected) => {
    expect(classifyError(error)).toBe(expected);
  });

  it('follows from the type before any message', () => {
    expect(classifyError(named('StageTimeout', 'fetch failed: socket, llm, postgres, bucket'))).toBe('SCAN_TIMEOUT');
    expect(classifyError(coded('ECONNRESET', 'the request timed out'))).toBe('NETWORK_ERROR');
  });

  it('follows from the type of a cause if only the cause has a known type', () => {
    expect(classifyError(caused('llm call timed out', coded('ECONNREFUSED')))).toBe('NETWORK_ERROR');
  });

  it('follows from the type of the outermost error before the types of its causes', () => {
    expect(classifyError(new AppError('internal', 'x', { errorClass: 'LLM_ERROR', cause: coded('ECONNRESET') }))).toBe(
      'LLM_ERROR',
    );
  });

  it('is the class of the cause for an AppError without a class of its own', () => {
    expect(classifyError(new AppError('internal', 'x', { cause: coded('ECONNRESET') }))).toBe('NETWORK_ERROR');
    expect(classifyError(new AppError('internal', 'the disk is full'))).toBe('UNKNOWN');
  });

  it('is the class of the cause for an AbortError', () => {
    const abort = new Error('The operation was aborted', { cause: named('StageTimeout') });
    expect(classifyError(Object.assign(abort, { name: 'AbortError' }))).toBe('SCAN_TIMEOUT');
  });
});

describe('the message of an error decides last', () => {
  it.each([
    ['activity Heartbeat timeout', 'WORKER_CRASH'],
    ['activity StartToClose timeout', 'SCAN_TIMEOUT'],
    ['the scan timed out after 30 s', 'SCAN_TIMEOUT'],
    ['4 DEADLINE_EXCEEDED', 'SCAN_TIMEOUT'],
    ['fetch failed', 'NETWORK_ERROR'],
    ['socket hang up', 'NETWORK_ERROR'],
    ['getaddrinfo EAI_AGAIN example.org', 'NETWORK_ERROR'],
    ['Invalid `prisma.item.findMany()` invocation', 'DB_ERROR'],
    ['deadlock detected', 'DB_ERROR'],
    ['relation "items" does not exist', 'DB_ERROR'],
    ['Connection terminated unexpectedly', 'DB_ERROR'],
    ['Connection terminated due to connection timeout', 'DB_ERROR'],
    ['timeout exceeded when trying to connect', 'DB_ERROR'],
    ['Client has encountered a connection error and is not queryable', 'DB_ERROR'],
    ['the LLM answered with prose', 'LLM_ERROR'],
    ['overloaded_error', 'LLM_ERROR'],
    ['The specified bucket does not exist', 'STORAGE_ERROR'],
    ['wait for the completion of the upload', 'UNKNOWN'],
    ['unexpected end of input', 'UNKNOWN'],
    ['', 'UNKNOWN'],
  ] as const)('%j is %s', (message, expected) => {
    expect(classifyError(new Error(message))).toBe(expected);
  });

  it('the more particular class first', () => {
    expect(classifyError(new Error('postgres: connection timed out'))).toBe('DB_ERROR');
    expect(classifyError(new Error('LLM call: fetch failed'))).toBe('LLM_ERROR');
    expect(classifyError(new Error('network timeout'))).toBe('SCAN_TIMEOUT');
  });

  it('in whichever error of the chain it stands', () => {
    expect(classifyError(caused('could not judge', caused('call failed', new Error('fetch failed'))))).toBe(
      'NETWORK_ERROR',
    );
  });
});

describe('a thrown value', () => {
  it.each([undefined, null, 42, true, Symbol('x'), () => 0, [], {}, new Error()])('%s has a class', (thrown) => {
    expect(classifyError(thrown)).toBe('UNKNOWN');
  });

  it('is classed by its text if it is a string', () => {
    expect(classifyError('socket hang up')).toBe('NETWORK_ERROR');
    expect(classifyError(caused('x', 'deadlock detected'))).toBe('DB_ERROR');
  });

  it('is classed as an error if it crossed a process boundary and is a plain object', () => {
    expect(classifyError({ name: 'StageTimeout', message: 'x' })).toBe('SCAN_TIMEOUT');
    expect(classifyError({ message: 'x', code: 'ECONNRESET' })).toBe('NETWORK_ERROR');
    expect(classifyError({ name: 7, message: { text: 'timed out' } })).toBe('UNKNOWN');
  });

  it('is UNKNOWN if its name is one that every object inherits', () => {
    for (const name of ['constructor', 'toString', '__proto__']) expect(classifyError(named(name))).toBe('UNKNOWN');
  });

  it('is classed without an endless loop if its causes form a cycle', () => {
    const one = new Error('one');
    const two = caused('two', one);
    one.cause = two;
    expect(classifyError(one)).toBe('UNKNOWN');
    const self = new Error('fetch failed');
    self.cause = self;
    expect(classifyError(self)).toBe('NETWORK_ERROR');
  });

  it('is searched five causes deep and no deeper', () => {
    function buried(depth: number): Error {
      return depth === 1 ? coded('ECONNRESET') : caused('x', buried(depth - 1));
    }
    expect(classifyError(buried(5))).toBe('NETWORK_ERROR');
    expect(classifyError(buried(6))).toBe('UNKNOWN');
  });

  it('is classed quickly even with a huge message', () => {
    const started = performance.now();
    expect(classifyError(new Error('relation "'.repeat(100_000)))).toBe('UNKNOWN');
    expect(performance.now() - started).toBeLessThan(1_000);
  });
});

it('the classes are those of the specification', () => {
  expect(ERROR_CLASSES).toEqual([
    'SCAN_TIMEOUT',
    'NETWORK_ERROR',
    'DB_ERROR',
    'LLM_ERROR',
    'STORAGE_ERROR',
    'BAD_INPUT',
    'WORKER_CRASH',
    'UNKNOWN',
  ]);
});
