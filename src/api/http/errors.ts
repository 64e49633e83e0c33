import type { FastifyReply, FastifyRequest } from 'fastify';
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod';
import { AppError, type ErrorCode, type FieldError, isAppError, KINDS } from '../../core/errors.js';
import { databaseFaultOf } from '../../db/postgres/database-fault.js';
import type { App } from '../parts.js';
import { faultOf, type Issue } from './invalid-field.js';
import { type Problem, PROBLEM_TYPE } from './problem.js';

const CODE_OF_FASTIFY: Readonly<Record<string, { code: ErrorCode; detail: string }>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: {
    code: 'unsupported_media_type',
    detail: 'send the body as JSON, with Content-Type: application/json',
  },
  FST_ERR_CTP_BODY_TOO_LARGE: { code: 'payload_too_large', detail: 'the body is larger than this route takes' },
  FST_ERR_CTP_EMPTY_JSON_BODY: {
    code: 'invalid_input',
    detail: 'the body is empty; send a JSON object, or no Content-Type',
  },
  FST_ERR_CTP_INVALID_JSON_BODY: { code: 'invalid_input', detail: 'the body is not valid JSON' },
  FST_ERR_BAD_URL: { code: 'invalid_input', detail: 'the path is not a valid URL' },
  FST_ERR_MAX_PARAM_LENGTH: { code: 'invalid_input', detail: 'a part of the path is too long' },
  FST_ERR_HANDLER_TIMEOUT: { code: 'overloaded', detail: 'the answer took too long' },
};

/** The one place that turns a thrown error into the client's answer. */
export function addErrorHandler(app: App): void {
  app.setErrorHandler((error, request, reply) => sendProblem(error, request, reply));
}

export function sendProblem(thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const error = appErrorOf(thrown);
  const { status } = KINDS[error.kind];
  if (error.kind === 'bug') request.log.error({ err: thrown }, 'request failed');
  else if (error.kind === 'unavailable') request.log.warn({ err: thrown, code: error.code }, 'request not served');
  else request.log.debug({ code: error.code, detail: error.message }, 'request refused');

  if (error.retryAfterSeconds !== undefined) void reply.header('Retry-After', error.retryAfterSeconds);
  if (status === 401) void reply.header('WWW-Authenticate', challengeOf(request));
  return reply.code(status).header('X-Request-Id', request.id).type(PROBLEM_TYPE).send(problemOf(error, request.id));
}

export function problemOf(error: AppError, requestId: string): Problem {
  // The message of a bug is for the log alone.
  const isOurs = error.kind === 'bug';
  return {
    ...(!isOurs && error.facts),
    type: `urn:unstuck:problem:${error.code}`,
    title: error.title,
    status: KINDS[error.kind].status,
    detail: isOurs ? 'the fault is in our log under this request id' : error.message,
    code: error.code,
    ...(error.errors && { errors: [...error.errors] }),
    requestId,
  };
}

function challengeOf(request: FastifyRequest): string {
  const realm = 'Bearer realm="unstuck"';
  return request.headers.authorization === undefined ? realm : `${realm}, error="invalid_token"`;
}

function appErrorOf(error: unknown): AppError {
  if (isAppError(error)) return error;
  if (hasZodFastifySchemaValidationErrors(error)) return invalidFields(error);
  const known = CODE_OF_FASTIFY[codeOf(error)];
  if (known) return new AppError(known.code, known.detail, { cause: error });
  switch (databaseFaultOf(error)) {
    case 'away':
      return new AppError('database_unavailable', 'the database does not answer; try again in a moment', {
        cause: error,
      });
    case 'busy':
      return new AppError('busy', 'somebody else is changing this right now; try again', { cause: error });
    case 'unstorable':
      return new AppError('invalid_input', 'a text contains characters that cannot be stored', { cause: error });
    case null:
      return isClientsFault(error)
        ? new AppError('invalid_input', 'the request cannot be read', { cause: error })
        : new AppError('internal', 'unexpected error', { cause: error });
  }
}

/** Enough faults to mend a request by. A hostile request may have thousands. */
const FIELDS_NAMED = 20;

interface Validation {
  validation: (Issue & { instancePath: string })[];
  validationContext?: string | undefined;
}

function invalidFields({ validation, validationContext }: Validation): AppError {
  const fields = validation.flatMap((issue): FieldError[] => {
    const path = issue.instancePath.split('/').filter((part) => part !== '');
    const unknown = Array.isArray(issue.params['keys']) ? issue.params['keys'].map(String) : [];
    if (unknown.length > 0) return unknown.map((key) => ({ path: [...path, key].join('.'), message: 'unknown field' }));
    return [{ path: path.join('.') || (validationContext ?? 'body'), message: faultOf(issue) }];
  });
  const named = fields.slice(0, FIELDS_NAMED);
  const detail = named.map(sentenceOf).join('; ');
  return new AppError('invalid_input', detail, { errors: named });
}

/** A fault is worded to follow the field's name, or stands by itself. */
function sentenceOf({ path, message }: FieldError): string {
  return /^(?:is|must) /.test(message) ? `${path} ${message}` : `${path}: ${message}`;
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

/** Fastify marks a body that its parsers refuse with a status from 400 to 499. */
function isClientsFault(error: unknown): boolean {
  if (!(error instanceof Error) || !('statusCode' in error)) return false;
  return typeof error.statusCode === 'number' && error.statusCode >= 400 && error.statusCode < 500;
}
