/** A long answer has 25 KB. A forty times larger body is no answer, and would only fill the memory. */
const MAX_ANSWER_BYTES = 1_000_000;

/** Statuses that have no body by definition. */
const BODILESS = new Set([204, 205, 304]);

export class OversizedAnswer extends Error {
  override readonly name = 'OversizedAnswer';
}

/** The `fetch` for a model's service. It follows no redirect, because a redirect could take the key and the content
 *  anywhere. It reads no more bytes than an answer can have. */
export function fetchFromModel(input: Parameters<typeof fetch>[0], init?: RequestInit): Promise<Response> {
  return fetchUpTo(MAX_ANSWER_BYTES, input, init);
}

/** The same for a service whose answers have another size. */
export async function fetchUpTo(
  maxBytes: number,
  input: Parameters<typeof fetch>[0],
  init?: RequestInit,
): Promise<Response> {
  const response = await fetch(input, { ...init, redirect: 'manual' });
  const { status, headers, body } = response;
  return new Response(BODILESS.has(status) ? null : body?.pipeThrough(limitBytes(maxBytes)), { status, headers });
}

/** Counts unpacked bytes, because a small packed body can unpack to any size. */
function limitBytes(maxBytes: number): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      bytes += chunk.length;
      if (bytes > maxBytes) controller.error(new OversizedAnswer('the answer has too many bytes'));
      else controller.enqueue(chunk);
    },
  });
}
