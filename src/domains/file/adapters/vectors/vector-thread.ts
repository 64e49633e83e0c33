import { parentPort, workerData } from 'node:worker_threads';
import type { VectorAnswer, VectorPage } from '../../ports/vector-index.js';
import { createVectorShelf, type Search } from './vector-shelf.js';

/** The thread that keeps and compares vectors, because a comparison with a hundred thousand takes longer than a request may hold up
 *  others. */
export type VectorOrder =
  | { id: number; begin: Search }
  | { id: number; add: VectorPage; owner: string }
  | { id: number; finish: string }
  | { id: number; abandon: string };

export type VectorReply = { id: number } & ({ missing: string[] } | VectorAnswer | { done: true });

const { maxBytes } = workerData as { maxBytes: number };
const shelf = createVectorShelf(maxBytes);

function replyTo(order: VectorOrder): VectorReply {
  const { id } = order;
  if ('begin' in order) return { id, missing: shelf.begin(order.begin) };
  if ('finish' in order) return { id, ...shelf.finish(order.finish) };
  if ('add' in order) shelf.add(order.owner, order.add);
  else shelf.abandon(order.abandon);
  return { id, done: true };
}

parentPort?.on('message', (order: VectorOrder) => {
  parentPort?.postMessage(replyTo(order));
});
