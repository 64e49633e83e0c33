import { join } from 'node:path';
import pg from 'pg';
import { withServer } from '../../../../bench/server.js';
import { createLocalEmbedder } from '../../../../src/adapters/embedder-local.js';
import { migrate } from '../../../../src/db/postgres/migrate.js';
import { measureSearch, type Recall } from './measure-search.js';

/** How many of 100 queries have their passage among the first five, by words, by meaning, and by both. Goal: both together find more than
 *  either alone. The local model is deterministic, so one run is enough. */
export async function benchmark(say: (line: string) => void = print): Promise<boolean> {
  return withServer(async ({ url, stops }) => {
    await migrate(url, join(import.meta.dirname, '../../../../prisma/migrations'));
    const pool = new pg.Pool({ connectionString: url });
    const embedder = createLocalEmbedder();
    stops.push(
      () => pool.end(),
      () => embedder.close(),
    );
    const { others, ...measured } = await measureSearch(pool, embedder);
    const { words, meaning, hybrid } = measured;
    say(`recall@5 of ${measured.queries} queries over ${measured.passages} passages, in percent`);
    say(lineOf('', { keywords: 'keywords', paraphrase: 'paraphrase', language: 'German', mix: 'mix' }));
    const alone = { words, meaning, hybrid };
    for (const [name, recall] of Object.entries(alone)) say(lineOf(name, recall));
    for (const [name, recall] of Object.entries(others))
      say(lineOf(name === 'ranks' ? name : `meaning × ${name}`, recall));
    const met = hybrid.mix > Math.max(words.mix, meaning.mix);
    say(JSON.stringify({ benchmark: 'search', met, ...measured }));
    return met;
  });
}

function lineOf(name: string, { keywords, paraphrase, language, mix }: Record<keyof Recall, number | string>): string {
  return [name.padEnd(16), ...[keywords, paraphrase, language, mix].map((each) => String(each).padStart(11))].join('');
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
