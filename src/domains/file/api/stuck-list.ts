import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { callerOf } from '../../../api/http/access.js';
import { cursorOf, positionIn } from '../../../api/http/cursor.js';
import { problems } from '../../../api/http/problem.js';
import { diagnoseRows } from '../../../api/items/diagnose-rows.js';
import { diagnosisOf } from '../../../api/items/item-answer.js';
import { pipelineOf } from '../../../api/items/item-reader.js';
import { DiagnosisAnswer } from '../../../api/items/item-schema.js';
import type { ApiParts, App } from '../../../api/parts.js';
import { countStuckFiles, listStuckFiles, type StuckFile, type StuckPlace } from '../db/stuck-files.js';
import { askedOwner, OwnerQuery } from './asked-owner.js';

const PATH = '/api/v2/uploads/stuck';

const Query = OwnerQuery.extend({
  cursor: z.string().max(500).optional().describe('As the `Link` header of the page before has it'),
  limit: z.coerce.number().int().min(1).max(100).default(50),
});

const Answer = z.object({
  files: z
    .array(
      z.object({
        id: z.uuid(),
        fileName: z.string(),
        status: z.string(),
        stuckDuration: z.int().min(0).describe('Milliseconds since its last sign of life'),
        retryCount: z.int().min(0).describe('Rescues, automatic ones and those that a person asked for'),
        batchId: z.uuid().nullable(),
        updatedAt: z.iso.datetime(),
        diagnosis: DiagnosisAnswer,
      }),
    )
    .describe('Longest stopped first; the `Link` header leads to the next page'),
  total: z.int().min(0).describe('On all pages'),
});

type Deps = Pick<ApiParts, 'pool' | 'pipelines' | 'engine' | 'schedules' | 'engineHealth'>;

export function addStuckListRoute(app: App, deps: Deps): void {
  app.get(
    PATH,
    {
      schema: {
        tags: ['uploads'],
        summary: 'The caller’s files that give no sign of life, each with why and what comes next',
        querystring: Query,
        response: { 200: Answer, ...problems(409) },
      },
    },
    async (request, reply) => {
      const { cursor, limit, owner: asked } = request.query;
      const owner = askedOwner(callerOf(request), asked, ['admin', 'viewer']);
      const position = positionIn(cursor, { owner: asked }, isPlace);
      const pipeline = pipelineOf(deps, 'file');
      const behind = position === null ? null : placeIn(position);
      const [found, total, isEngineThere] = await Promise.all([
        listStuckFiles(deps.pool, pipeline, { owner, behind, limit: limit + 1 }),
        countStuckFiles(deps.pool, pipeline, owner),
        deps.engineHealth.isThere(),
      ]);
      const shown = found.slice(0, limit);
      const last = shown.at(-1);
      if (last && found.length > limit) linkNext(reply, { ...(asked !== undefined && { owner: asked }), limit }, last);
      const diagnosed = await diagnoseRows(
        deps,
        shown.map(({ facts }) => facts),
        { isEngineThere },
      );
      return { files: shown.map((file, n) => lineOf(file, diagnosed[n])), total };
    },
  );
}

type Diagnosed = Awaited<ReturnType<typeof diagnoseRows>>[number];

function lineOf({ name, batchId, facts: { item, now } }: StuckFile, diagnosed: Diagnosed | undefined) {
  if (!diagnosed) throw new Error(`file ${item.id} was not diagnosed`);
  return {
    id: item.id,
    fileName: name,
    status: item.state,
    stuckDuration: Math.max(0, now.getTime() - item.beatAt.getTime()),
    retryCount: item.rescues,
    batchId,
    updatedAt: item.updatedAt.toISOString(),
    diagnosis: diagnosisOf(diagnosed.diagnosis),
  };
}

function linkNext(
  reply: FastifyReply,
  { owner, limit }: { owner?: string; limit: number },
  { facts }: StuckFile,
): void {
  const { beatAt, id } = facts.item;
  const query = new URLSearchParams({
    cursor: cursorOf(`${beatAt.toISOString()}|${id}`, { owner }),
    limit: String(limit),
    ...(owner !== undefined && { owner }),
  });
  void reply.header('Link', `<${PATH}?${query.toString()}>; rel="next"`);
}

function isPlace(position: string): boolean {
  const [at = '', id] = position.split('|');
  return z.iso.datetime().safeParse(at).success && z.uuid().safeParse(id).success;
}

function placeIn(position: string): StuckPlace {
  const [at = '', id = ''] = position.split('|');
  return { at: new Date(at), id };
}
