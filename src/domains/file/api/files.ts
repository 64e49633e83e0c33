import { z } from 'zod';
import { callerOf } from '../../../api/http/access.js';
import { cursorOf, positionIn } from '../../../api/http/cursor.js';
import { actorOf, WRITERS } from '../../../api/http/permissions.js';
import { problems } from '../../../api/http/problem.js';
import { textUpTo } from '../../../api/http/text-up-to.js';
import { pipelineOf } from '../../../api/items/item-reader.js';
import { ItemParams } from '../../../api/items/item-schema.js';
import type { App } from '../../../api/parts.js';
import { AppError } from '../../../core/errors.js';
import { findText, listChunks, scanFiles } from '../db/files.js';
import { fileLine } from './batch-answer.js';
import { deleteOwnFile } from './delete-own-file.js';
import { answerForFile } from './file-reader.js';
import { ChunkList, FileAnswer, TextAnswer } from './file-schema.js';
import { findHandledFile } from './own-file.js';
import { retryFile } from './retry-file.js';
import type { UploadDeps } from './upload-deps.js';
import { Deleting, FileLine } from './upload-schema.js';

const TAGS = ['files'];

/** Rows that one request looks at for a state: some milliseconds. */
const EXAMINED = 2_000;

const Page = {
  cursor: z.string().max(500).optional().describe('`nextCursor` of the page before'),
  limit: z.coerce.number().int().min(1).max(100).default(50),
};

const Query = z.strictObject({ state: textUpTo(100).optional(), ...Page });

const List = z.object({
  files: z.array(FileLine).describe('The newest first'),
  nextCursor: z
    .string()
    .nullable()
    .describe('Where to go on. A page may be short, or empty, and yet have one: the work for one request is bounded'),
});

/** The caller's files. */
export function addFileRoutes(app: App, deps: UploadDeps): void {
  const { pool } = deps;

  app.get(
    '/api/v2/files',
    { schema: { tags: TAGS, summary: 'Your files', querystring: Query, response: { 200: List, ...problems() } } },
    async (request) => {
      const { cursor, limit, state } = request.query;
      assertState(state, Object.keys(pipelineOf(deps, 'file').states));
      const behind = positionIn(cursor, { state }, (text) => z.uuid().safeParse(text).success);
      const bounds = { owner: callerOf(request).sub, state, behind, examine: EXAMINED, take: limit + 1 };
      const scan = await scanFiles(pool, bounds);
      const files = scan.files.slice(0, limit);
      const behindLooked = scan.examined >= EXAMINED ? scan.lastId : null;
      const position = scan.files.length > limit ? files.at(-1)?.id : behindLooked;
      return { files: files.map(fileLine), nextCursor: position ? cursorOf(position, { state }) : null };
    },
  );

  app.get(
    '/api/v2/files/:id',
    {
      schema: {
        tags: TAGS,
        summary: 'A file: where it is, whether it can be searched, why it is not moving, and what to do',
        params: ItemParams,
        response: { 200: FileAnswer, ...problems(404) },
      },
    },
    (request) => answerForFile(deps, callerOf(request), request.params.id),
  );

  app.get(
    '/api/v2/files/:id/text',
    {
      schema: {
        tags: TAGS,
        summary: 'The text of a file',
        description: 'For its owner and admins. 409: its text is not there yet.',
        params: ItemParams,
        response: { 200: TextAnswer, ...problems(404, 409) },
      },
    },
    async (request) => {
      const file = await findHandledFile(pool, callerOf(request), request.params.id);
      const text = await findText(pool, file.id);
      if (!text) throw new AppError('state_conflict', `file ${file.id} is in ${file.state} and has no text yet`);
      const { parts, chars, isRecognized: recognized, isTruncated: truncated } = text;
      return { fileId: file.id, chars, recognized, truncated, parts };
    },
  );

  app.get(
    '/api/v2/files/:id/chunks',
    {
      schema: {
        tags: TAGS,
        summary: 'The pieces of a file’s text that are searched',
        description: 'For its owner and admins.',
        params: ItemParams,
        querystring: z.strictObject(Page),
        response: { 200: ChunkList, ...problems(404) },
      },
    },
    async (request) => {
      const { cursor, limit } = request.query;
      const file = await findHandledFile(pool, callerOf(request), request.params.id);
      const behind = Number(positionIn(cursor, { file: file.id }, (text) => /^\d{1,9}$/.test(text)) ?? 0);
      const found = await listChunks(pool, file.id, { behind, limit: limit + 1 });
      const chunks = found.slice(0, limit);
      const last = found.length > limit ? chunks.at(-1) : undefined;
      return { chunks, nextCursor: last ? cursorOf(String(last.seq), { file: file.id }) : null };
    },
  );

  app.delete(
    '/api/v2/files/:id',
    {
      config: { access: WRITERS },
      schema: {
        tags: TAGS,
        summary: 'Delete a file with its text and its bytes',
        description: '202: the file is gone for you, and its bytes are still being deleted.',
        params: ItemParams,
        response: { 202: Deleting, 204: z.null(), ...problems(404) },
      },
    },
    async (request, reply) => {
      const caller = callerOf(request);
      const file = await findHandledFile(pool, caller, request.params.id);
      const outcome = await deleteOwnFile(deps, request.log, file, actorOf(caller));
      return outcome === 'deleted' ? reply.code(204).send(null) : reply.code(202).send({ deleting: true });
    },
  );

  app.post(
    '/api/v2/files/:id/retry',
    {
      config: { access: WRITERS },
      schema: {
        tags: TAGS,
        summary: 'Process a failed file again, with a new budget of rescues',
        params: ItemParams,
        body: z.strictObject({ reason: textUpTo(2_000).optional() }),
        response: { 200: FileAnswer, ...problems(404, 409, 413, 415) },
      },
    },
    async (request) => {
      const caller = callerOf(request);
      const file = await findHandledFile(pool, caller, request.params.id);
      await retryFile(deps, request.log, file, { actor: actorOf(caller), reason: request.body.reason });
      return answerForFile(deps, caller, file.id);
    },
  );
}

function assertState(state: string | undefined, states: readonly string[]): void {
  if (state === undefined || states.includes(state)) return;
  const message = `must be one of ${states.join(', ')}`;
  throw new AppError('invalid_input', `state ${message}`, { errors: [{ path: 'state', message }] });
}
