import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { AppError, KINDS } from '../../core/errors.js';
import { problemOf } from './errors.js';
import { PROBLEM_TYPE } from './problem.js';

/** Answers input that is not even a request: broken HTTP, headers without end, a body that never comes. */
export function answerClientError(error: Error & { code?: string }, socket: Socket): void {
  // Reset by the client, or answered already.
  if (error.code === 'ECONNRESET' || !socket.writable || socket.destroyed) {
    socket.destroy();
    return;
  }
  const refusal = refusalOf(error.code);
  const body = JSON.stringify(problemOf(refusal, randomUUID()));
  const { status } = KINDS[refusal.kind];
  const head = [
    `HTTP/1.1 ${status} ${refusal.code}`,
    `Content-Type: ${PROBLEM_TYPE}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

function refusalOf(code: string | undefined): AppError {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new AppError('request_timeout', 'the request did not arrive in time');
  if (code === 'HPE_HEADER_OVERFLOW') return new AppError('payload_too_large', 'the headers are too large');
  return new AppError('invalid_input', 'this is not a valid HTTP request');
}
