import type { Embedder, OpenEmbedder } from '../../../ports/embedder.js';
import type { Sql } from '../../../ports/sql.js';
import type { Save, Stage, StageContext } from '../../../ports/stage.js';
import { bytesOfVector } from '../core/search/vector-bytes.js';
import { countChunks, keepVectors, listBareChunks } from '../db/search/chunk-vectors.js';
import type { file } from '../table.js';
import { createBatchTurns } from './batch-turns.js';

export interface EmbedDeps {
  reads: Sql;
  embedder: OpenEmbedder;
}

/** The specification's number. The local model takes some ten seconds for a batch, so a crash costs no more. */
const BATCH = 96;

/** One batch is embedded while the vectors of another are stored. More would only wait longer for their answer: the local model has one
 *  thread, and a service limits its callers. */
const BATCHES_AT_ONCE = 2;

/** Gives each chunk of the file a vector. The vectors of a batch are on disk before the next batch is begun, so a later attempt begins
 *  with the first batch that was not done. */
export function embedStage({ reads, embedder: open }: EmbedDeps): Stage<typeof file, 'embed'> {
  const turns = createBatchTurns(BATCHES_AT_ONCE);

  /** The chunks that have a vector now. None: there was no chunk left. */
  async function embedBatch(context: StageContext, embedder: Embedder, behind: number): Promise<number[]> {
    const { item, signal, progress } = context;
    const { model } = embedder;
    const endTurn = await turns.take(signal, (batchesAhead) => progress({ batchesAhead }));
    try {
      const batch = await listBareChunks(reads, item.id, { model, behind, limit: BATCH });
      const behindNext = batch.at(-1)?.seq;
      if (behindNext === undefined) return [];
      const vectors = await embedder.embed(batch.map(embeddedTextOf), signal);
      const seqs = batch.map(({ seq }) => seq);
      await context.keep({ model, behind: behindNext }, keepVectors(model, seqs, vectors.map(bytesOfVector)));
      return seqs;
    } finally {
      endTurn();
    }
  }

  return async (context) => {
    const { item, progress } = context;
    const embedder = await open();
    const { model, dimension } = embedder;
    const { chunks, embedded } = await countChunks(reads, item.id, model);
    let [done, behind] = [embedded, 0];
    while (done < chunks) {
      progress({ done, of: chunks });
      const seqs = await embedBatch(context, embedder, behind);
      if (seqs.length === 0) break;
      done += seqs.length;
      behind = seqs.at(-1) ?? behind;
    }
    progress({ done, of: chunks });
    return { outcome: 'done', note: { chunks, model, dimension }, save: assertEmbedded(item.id, model) };
  };
}

/** The heading says what the passage is about, as a rule with other words. */
export function embeddedTextOf({ title, text }: { title: string | null; text: string }): string {
  return title === null ? text : `${title}\n${text}`;
}

/** A file is ready only if each of its chunks can be found by its meaning. */
function assertEmbedded(fileId: string, model: string): Save {
  return async (transaction) => {
    const { chunks, embedded } = await countChunks(transaction, fileId, model);
    if (embedded < chunks) throw new Error(`${chunks - embedded} of ${chunks} chunks have no vector of ${model}`);
  };
}
