import { z } from 'zod';
import { callerOf } from '../../../api/http/access.js';
import { problems } from '../../../api/http/problem.js';
import { textUpTo } from '../../../api/http/text-up-to.js';
import type { App } from '../../../api/parts.js';
import { type SearchDeps, searchFiles } from './search-files.js';

/** A question of a few sentences. The local model reads no more than a few hundred words. */
const MAX_QUERY_CHARACTERS = 400;

const Query = z.strictObject({
  q: textUpTo(MAX_QUERY_CHARACTERS)
    .refine((text) => /[\p{L}\p{N}]/u.test(text), 'must have a letter or a digit')
    .describe(
      'Words, or a question. "…" finds a phrase, and a minus leaves out the passages that have a word, among those found by words',
    ),
  limit: z.coerce.number().int().min(1).max(50).default(10).describe('The most passages that are wanted'),
});

const Line = z.object({
  fileId: z.uuid(),
  fileName: z.string(),
  seq: z.int().describe('The place of the passage in the file, from 1'),
  page: z.int().nullable(),
  title: z.string().nullable().describe('The heading, sheet or slide under which it stands'),
  text: z.string().describe('The passage around the words of the query; an ellipsis stands where text is left out'),
  score: z.number().describe('Compares the passages of one answer; the best stands first'),
  foundBy: z.array(z.enum(['words', 'meaning'])).describe('By the words of the query, by what it means, or both'),
});

const Answer = z.object({
  passages: z.array(Line),
  degraded: z.boolean().describe('The embedder did not answer, so passages were found by their words alone'),
  model: z.string().nullable().describe('The model whose vectors were compared; null: none were'),
  withoutVector: z
    .int()
    .nullable()
    .describe('Passages of yours that have no vector of this model and are found by their words alone; null: unknown'),
});

/** Searches the caller's own files, for an admin too: a search over the files of all would show each to each. */
export function addSearchRoute(app: App, deps: SearchDeps): void {
  app.get(
    '/api/v2/files/search',
    {
      schema: {
        tags: ['files'],
        summary: 'Search your own ready files by words and by meaning',
        querystring: Query,
        response: { 200: Answer, ...problems() },
      },
    },
    async (request) => {
      const { q, limit } = request.query;
      return searchFiles(deps, { owner: callerOf(request).sub, text: q, limit });
    },
  );
}
