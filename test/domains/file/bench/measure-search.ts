import type { Sql } from '../../../../src/ports/sql.js';
import type { Embedder } from '../../../../src/ports/embedder.js';
import { createVectorIndex } from '../../../../src/domains/file/adapters/vectors/vector-index.js';
import { fuseHits } from '../../../../src/domains/file/core/search/fuse-hits.js';
import { findByWords, type WordHit } from '../../../../src/domains/file/db/search/find-by-words.js';
import { listReadyFiles } from '../../../../src/domains/file/db/search/list-ready-files.js';
import { createReadVectors } from '../../../../src/domains/file/db/search/read-vectors.js';
import type { VectorHit } from '../../../../src/domains/file/ports/vector-index.js';
import { storeFile } from '../support/ready-files.js';
import { ENGLISH, GERMAN, type Labelled, type QueryKind } from './search-data.js';

const KINDS = ['keywords', 'paraphrase', 'language'] as const satisfies readonly QueryKind[];

/** Passages of a file that are looked at for each list. */
const DEPTH = 50;
const TOP = 5;

/** Of 100 queries, how many have their passage among the first five. */
export type Recall = Record<QueryKind | 'mix', number>;

export interface SearchMeasured {
  passages: number;
  queries: number;
  words: Recall;
  meaning: Recall;
  hybrid: Recall;
  /** The hybrid with other weights of the meaning, and by ranks alone. */
  others: Record<string, Recall>;
}

interface Asked {
  kind: QueryKind;
  /** File and place of the passage that answers. */
  wanted: string;
  byWords: WordHit[];
  byMeaning: VectorHit[];
}

/** Stores the labelled passages as files of one owner, ten to a file, and asks every query. */
export async function measureSearch(sql: Sql, embedder: Embedder): Promise<SearchMeasured> {
  const owner = 'bench';
  const placed = [
    ...(await store(sql, { owner, embedder }, ENGLISH)),
    ...(await store(sql, { owner, embedder }, GERMAN)),
  ];
  const vectors = createVectorIndex({ read: createReadVectors(sql), maxBytes: 64 * 1_024 ** 2 });
  const files = await listReadyFiles(sql, owner);
  const asked: Asked[] = [];
  for (const { place, passage } of placed) {
    for (const kind of KINDS) {
      const text = passage[kind];
      if (text === undefined) continue;
      const byWords = await findByWords(sql, { owner, text, files, limit: DEPTH });
      const [vector] = await embedder.embed([text], new AbortController().signal);
      const { model } = embedder;
      const { hits } = await vectors.search({ owner, model, vector: vector!, files, limit: DEPTH });
      asked.push({ kind, wanted: place, byWords, byMeaning: hits });
    }
  }
  await vectors.close();
  const weights = [0.25, 0.5, 0.75, 1, 1.5, 2, 3];
  return {
    ...{ passages: placed.length, queries: asked.length },
    words: recallOf(asked, ({ byWords }) => byWords),
    meaning: recallOf(asked, ({ byMeaning }) => byMeaning),
    hybrid: recallOf(asked, (each) => fuseHits(each)),
    others: {
      ...Object.fromEntries(
        weights.map((weight) => [String(weight), recallOf(asked, (each) => fuseHits(each, weight))]),
      ),
      ranks: recallOf(asked, fuseRanks),
    },
  };
}

async function store(
  sql: Sql,
  { owner, embedder }: { owner: string; embedder: Embedder },
  labelled: readonly Labelled[],
): Promise<{ place: string; passage: Labelled }[]> {
  const placed: { place: string; passage: Labelled }[] = [];
  for (let from = 0; from < labelled.length; from += 10) {
    const some = labelled.slice(from, from + 10);
    const { id } = await storeFile(sql, { owner, embedder, texts: some.map(({ text }) => text) });
    placed.push(...some.map((passage, at) => ({ place: `${id}:${at + 1}`, passage })));
  }
  return placed;
}

type Place = { fileId: string; seq: number };

function recallOf(asked: readonly Asked[], listOf: (each: Asked) => readonly Place[]): Recall {
  const isFound = (each: Asked) =>
    listOf(each)
      .slice(0, TOP)
      .some(({ fileId, seq }) => `${fileId}:${seq}` === each.wanted);
  const percentOf = (some: readonly Asked[]) => Math.round((1_000 * some.filter(isFound).length) / some.length) / 10;
  const byKind = KINDS.map((kind) => [kind, percentOf(asked.filter((each) => each.kind === kind))]);
  return { ...(Object.fromEntries(byKind) as Record<QueryKind, number>), mix: percentOf(asked) };
}

/** Reciprocal rank fusion with its usual constant. */
function fuseRanks({ byWords, byMeaning }: Asked): Place[] {
  const scores = new Map<string, Place & { score: number }>();
  for (const list of [byWords, byMeaning]) {
    for (const [at, { fileId, seq }] of list.entries()) {
      const key = `${fileId}:${seq}`;
      scores.set(key, { fileId, seq, score: (scores.get(key)?.score ?? 0) + 1 / (60 + at + 1) });
    }
  }
  return [...scores.values()].sort((one, other) => other.score - one.score);
}
