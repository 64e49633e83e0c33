/** Forty times a long answer; what is larger is no judgement, and would only fill the memory. */
const MAX_ANSWER_BYTES = 1_000_000;

/** Statuses that have no body by definition. */
const BODILESS = new Set([204, 205, 304]);

export class OversizedAnswer extends Error {
  override readonly name = 'OversizedAnswer';
}

/** The `fetch` that talks to a model: it follows no redirect, which could take key and content anywhere, and reads no more than
 *  an answer can be. */
export async function judgeFetch(input: Parameters<typeof fetch>[0], init?: RequestInit): Promise<Response> {
  const response = await fetch(input, { ...init, redirect: 'manual' });
  const { status, headers, body } = response;
  return new Response(BODILESS.has(status) ? null : body?.pipeThrough(limitedTo(MAX_ANSWER_BYTES)), {
    status,
    headers,
  });
}

/** Counts what was unpacked, not what came over the wire. */
function limitedTo(maxBytes: number): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      bytes += chunk.length;
      if (bytes > maxBytes) controller.error(new OversizedAnswer('more than an answer can be'));
      else controller.enqueue(chunk);
    },
  });
}
