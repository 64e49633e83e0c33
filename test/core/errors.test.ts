import { describe, expect, it } from 'vitest';
import { ERROR_CLASSES } from '../../src/core/error-class.js';
import {
  AppError,
  CODES,
  declareCodes,
  type ErrorCode,
  type ErrorKind,
  isAppError,
  isRetryable,
  KINDS,
} from '../../src/core/errors.js';

const codes = Object.entries(CODES) as [ErrorCode, { kind: ErrorKind; title: string; errorClass?: string }][];
const kinds = Object.entries(KINDS) as [ErrorKind, { status: number; retryable: boolean }][];

describe('the table of errors', () => {
  it.each(codes)('%s has a known kind, a title and a lower_snake name', (code, row) => {
    expect(KINDS).toHaveProperty(row.kind);
    expect(code).toMatch(/^[a-z]+(_[a-z]+)*$/);
    expect(row.title).toMatch(/^[A-Z].*[^.]$/);
    expect([...ERROR_CLASSES, undefined]).toContain(row.errorClass);
  });

  it.each(kinds)('%s is a kind of some code and answers with an error status of its own', (kind, { status }) => {
    expect(codes.some(([, row]) => row.kind === kind)).toBe(true);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(status).toBeLessThan(600);
    expect(kinds.filter(([, other]) => other.status === status)).toHaveLength(1);
  });

  it('lets nobody try again what only the caller can put right', () => {
    const retryable = kinds.filter(([, row]) => row.retryable).map(([, row]) => row.status);
    expect(retryable.sort()).toEqual([408, 429, 500, 503]);
  });
});

describe('an AppError', () => {
  it.each(codes)('%s takes its kind from the table', (code, row) => {
    const error = new AppError(code, 'why');
    expect(error).toMatchObject({ name: 'AppError', code, kind: row.kind });
    expect(error.message).toBe('why');
    expect(ERROR_CLASSES).toContain(error.errorClass);
    expect(isRetryable(error)).toBe(KINDS[row.kind].retryable);
  });

  it("takes kind, title, class and wait of a domain's code from the row that the domain declared", () => {
    const own = declareCodes({
      disk_full: { kind: 'unavailable', title: 'The disk is full', errorClass: 'STORAGE_ERROR', retryAfterSeconds: 7 },
    });
    const error = new AppError(own.disk_full, 'why');
    expect(error).toMatchObject({ code: 'disk_full', kind: 'unavailable', title: 'The disk is full' });
    expect(error).toMatchObject({ errorClass: 'STORAGE_ERROR', retryAfterSeconds: 7 });
    expect(isRetryable(error)).toBe(true);
  });

  it('keeps its cause, the fields it blames and its facts', () => {
    const cause = new Error('socket hang up');
    const errors = [{ path: 'files.0.name', message: 'no path separators' }];
    const error = new AppError('invalid_input', 'bad', { cause, errors, facts: { state: 'DONE' } });
    expect(error.cause).toBe(cause);
    expect(error.errors).toBe(errors);
    expect(error.facts).toEqual({ state: 'DONE' });
  });

  it('without a cause has no such property, so that it prints none', () => {
    expect(Object.hasOwn(new AppError('internal', 'why'), 'cause')).toBe(false);
  });

  it('is counted under the class it was given, else its code names, else its kind suggests', () => {
    expect(new AppError('internal', 'x', { errorClass: 'LLM_ERROR' }).errorClass).toBe('LLM_ERROR');
    expect(new AppError('database_unavailable', 'x', { errorClass: 'UNKNOWN' }).errorClass).toBe('UNKNOWN');
    expect(new AppError('database_unavailable', 'x').errorClass).toBe('DB_ERROR');
    expect(new AppError('bad_input', 'x').errorClass).toBe('BAD_INPUT');
    expect(new AppError('internal', 'x').errorClass).toBe('UNKNOWN');
  });

  it('is told from any other error', () => {
    expect(isAppError(new AppError('internal', 'x'))).toBe(true);
    expect(isAppError(new Error('x'))).toBe(false);
    expect(isAppError({ name: 'AppError', code: 'internal' })).toBe(false);
    expect(isAppError(undefined)).toBe(false);
  });
});

describe('whether a failed attempt is worth another', () => {
  it.each([new Error('x'), new TypeError('x'), 'thrown text', undefined, { code: 'bad_input' }])(
    'is yes for %s: only an AppError can say no',
    (error) => {
      expect(isRetryable(error)).toBe(true);
    },
  );

  it('is no for content that cannot be processed', () => {
    expect(isRetryable(new AppError('bad_input', 'not a PDF'))).toBe(false);
  });
});
