import type { Worker } from 'node:worker_threads';
import { startThread } from '../../../../adapters/start-thread.js';
import type { ReadVectors, VectorAnswer, VectorIndex, VectorQuery } from '../../ports/vector-index.js';
import type { VectorOrder, VectorReply } from './vector-thread.js';

/** The vectors of owners that nobody searches for so long are better read again than kept. */
const IDLE_MS = 10 * 60_000;

interface VectorIndexOptions {
  read: ReadVectors;
  /** For the vectors of all owners together. */
  maxBytes: number;
  idleMs?: number;
}

type OrderBody = VectorOrder extends infer Order ? (Order extends { id: number } ? Omit<Order, 'id'> : never) : never;

/** Exact search over the vectors of the owner, in a thread that keeps them in memory. A search reads only the vectors of files that are
 *  new since the last one. */
export function createVectorIndex({ read, maxBytes, idleMs = IDLE_MS }: VectorIndexOptions): VectorIndex {
  const waiting = new Map<number, { resolve(reply: VectorReply): void; reject(error: Error): void }>();
  /** The last search of each owner, behind which the owner's next one waits, because the first may be reading what both need. */
  const lines = new Map<string, Promise<unknown>>();
  let thread: Worker | undefined;
  let lastId = 0;
  let idle: NodeJS.Timeout | undefined;

  function openThread(): Worker {
    const opened = startThread('vector-thread', import.meta.url, { maxBytes });
    opened.on('message', (reply: VectorReply) => {
      waiting.get(reply.id)?.resolve(reply);
      waiting.delete(reply.id);
    });
    function onFall(why: unknown): void {
      if (thread === opened) thread = undefined;
      const error = new Error('the thread that compares vectors has ended', { cause: why });
      for (const each of waiting.values()) each.reject(error);
      waiting.clear();
    }
    opened.once('error', onFall).once('exit', onFall);
    opened.unref();
    return opened;
  }

  async function ask<Reply>(order: OrderBody): Promise<Reply> {
    clearTimeout(idle);
    thread ??= openThread();
    const asked = thread;
    const id = (lastId += 1);
    const transfer = 'add' in order ? [order.add.bytes.buffer as ArrayBuffer] : [];
    asked.ref();
    try {
      return (await new Promise<VectorReply>((resolve, reject) => {
        waiting.set(id, { resolve, reject });
        asked.postMessage({ ...order, id }, transfer);
      })) as Reply;
    } finally {
      if (waiting.size === 0) rest();
    }
  }

  function rest(): void {
    thread?.unref();
    clearTimeout(idle);
    idle = setTimeout(() => void endThread(), idleMs).unref();
  }

  async function endThread(): Promise<void> {
    const ended = thread;
    thread = undefined;
    await ended?.terminate();
  }

  async function searchAlone({ owner, model, vector, files, limit }: VectorQuery): Promise<VectorAnswer> {
    const shelved = files.map(({ id, version, chunks }) => [id, version, chunks] as const);
    const begin = { owner, model, vector, files: shelved, limit };
    const { missing } = await ask<{ missing: string[] }>({ begin });
    const asked = thread;
    try {
      if (missing.length > 0) {
        for await (const add of read({ owner, model, fileIds: missing })) await ask({ add, owner });
      }
    } catch (error) {
      await ask({ abandon: owner });
      throw error;
    }
    // A new thread knows nothing of this search.
    if (thread !== asked) throw new Error('the thread that compares vectors was replaced during the search');
    const { hits, vectors } = await ask<VectorAnswer>({ finish: owner });
    return { hits, vectors };
  }

  return {
    search(query) {
      const { owner } = query;
      const before = lines.get(owner) ?? Promise.resolve();
      const found = before.then(
        () => searchAlone(query),
        () => searchAlone(query),
      );
      const line = found
        .catch(() => undefined)
        .finally(() => {
          if (lines.get(owner) === line) lines.delete(owner);
        });
      lines.set(owner, line);
      return found;
    },
    async close() {
      clearTimeout(idle);
      await endThread();
    },
  };
}
