import { createReadStream } from 'node:fs';
import { type IncomingMessage, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { pipeline } from 'node:stream/promises';
import { Transform } from 'node:stream';
import { text } from 'node:stream/consumers';
import { z } from 'zod';

export interface Sending {
  url: string;
  headers: Readonly<Record<string, string>>;
  path: string;
  sizeBytes: number;
  /** Tells how many more bytes were read. */
  progress(bytes: number): void;
}

export interface Sent {
  status: number;
  /** Why it was refused, in the words of the receiver. */
  detail: string;
  retryAfterMs: number | null;
}

/** A receiver that has had all bytes answers within this time. Storing 100 MB takes it some seconds. */
const ANSWER_WITHIN_MS = 120_000;

const Problem = z.object({ detail: z.string() });

/** Sends a file to a signed address. `fetch` is not used, because with a stream it announces no length, which signed requests need. */
export async function sendBytes({ url, headers, path, sizeBytes, progress }: Sending): Promise<Sent> {
  const open = url.startsWith('https:') ? httpsRequest : httpRequest;
  const request = open(url, { method: 'PUT', headers: { ...headers, 'content-length': sizeBytes } });
  request.setTimeout(ANSWER_WITHIN_MS, () => request.destroy(new Error('the receiver said nothing for too long')));
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    request.once('response', resolve).once('error', reject);
  });
  const counted = new Transform({
    transform(part: Buffer, _encoding, done) {
      progress(part.length);
      done(null, part);
    },
  });
  // A refusal may come before all bytes were sent. The answer counts then, and not the broken connection.
  const sent = pipeline(createReadStream(path), counted, request);
  sent.catch(() => undefined);
  const response = await answered;
  const body = await text(response);
  return { status: response.statusCode ?? 0, detail: detailOf(body), retryAfterMs: retryAfterOf(response) };
}

function detailOf(body: string): string {
  try {
    return Problem.parse(JSON.parse(body)).detail;
  } catch {
    return body.slice(0, 200);
  }
}

function retryAfterOf({ headers }: IncomingMessage): number | null {
  const seconds = Number(headers['retry-after'] ?? NaN);
  return Number.isFinite(seconds) ? seconds * 1_000 : null;
}
