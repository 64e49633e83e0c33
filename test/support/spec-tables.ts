import { definePipeline, fanOut, stage } from '../../src/core/pipeline.js';

/** The specification's pipelines without a domain of their own yet, as tables: states, moves, stages, tries, limits and words
 *  of the audit trail are the specification's; where it names no time-out, one is chosen. They prove that such tables can be
 *  written. */

const budgetResetAfter = '24h';
const oldestRescued = '7d';

/** Retries happen at the stage: three, five seconds doubling to a minute. */
const fileTries = { tries: 3, backoff: { first: '5s', max: '60s' }, spent: { move: 'failed' } } as const;

export const file = definePipeline({
  name: 'file',
  start: 'registered',
  sweep: { every: '15m', staleAfter: '10m', stuckAfter: '30m' },
  rescue: {
    budget: 3,
    backoff: ['3m', '10m', '30m'],
    budgetResetAfter,
    oldestRescued,
    exhausted: 'failed',
    resumesAt: 'queued',
  },
  cancelled: 'failed',
  states: {
    registered: { rests: 'awaiting_upload', then: { uploaded: 'uploaded', confirmed: 'queued' } },
    uploaded: { rests: 'awaiting_upload', then: { confirmed: 'queued' } },
    queued: { rests: 'backlog', then: { claimed: 'extracting' } },
    extracting: { does: stage('extract', { ...fileTries, within: '10m', beats: '4s' }), then: { done: 'chunking' } },
    chunking: { does: stage('chunk', { ...fileTries, within: '2m', beats: '4s' }), then: { done: 'embedding' } },
    embedding: {
      does: stage('embed', { ...fileTries, within: '30m', beats: '4s', progressWithin: '5m' }),
      then: { done: 'ready' },
    },
    ready: { ends: 'done' },
    failed: { ends: 'failed', reopens: 'queued' },
  },
});

const critical = { tries: 3, spent: { move: 'failed' } } as const;
const optional = { tries: 2, spent: 'skip' } as const;

export const conversation = definePipeline({
  name: 'conversation',
  start: 'active',
  sweep: { every: '5m', staleAfter: '10m', stuckAfter: '30m' },
  rescue: {
    budget: 3,
    backoff: ['3m', '10m', '30m'],
    budgetResetAfter,
    oldestRescued,
    exhausted: 'failed',
    resumesAt: 'active',
  },
  cancelled: 'failed',
  states: {
    active: { rests: 'not_due', then: { picked: 'processing' } },
    processing: {
      does: [
        stage('extraction', { ...critical, within: '120s' }),
        stage('persistence', { ...optional, within: '30s' }),
        stage('memory_update', { ...critical, within: '60s' }),
        stage('life_sim', { ...optional, within: '60s' }),
        stage('emotional', { ...optional, within: '30s' }),
        stage('vice', { ...optional, within: '30s' }),
        stage('game_state', { ...optional, within: '30s' }),
        stage('conflict', { ...optional, within: '30s' }),
        stage('touchpoint', { ...optional, within: '30s' }),
        stage('summary', { ...optional, within: '60s' }),
        stage('prompt_builder', { ...optional, within: '90s' }),
      ],
      then: { done: 'processed' },
      admits: 10,
    },
    processed: { ends: 'done', reopens: 'active' },
    failed: { ends: 'failed', reopens: 'active' },
  },
});

const geo = {
  sweep: { every: '5m', staleAfter: '10m', stuckAfter: '15m' },
  rescue: { budget: 3, backoff: ['1m', '5m', '15m'], budgetResetAfter, oldestRescued, exhausted: 'FAILED' },
} as const;

export const vectorIngest = definePipeline({
  name: 'vector-ingest',
  start: 'QUEUED',
  ...geo,
  cancelled: 'FAILED',
  dedupes: 'all',
  states: {
    QUEUED: { rests: 'backlog', then: { claimed: 'PROCESSING' } },
    PROCESSING: {
      does: [
        stage('prepareChunks', { tries: 3, within: '2h', progressWithin: '5m', spent: { move: 'FAILED' } }),
        fanOut('uploadChunk', { tries: 3, within: '10m', width: 8, needs: 'asked', spent: { move: 'FAILED' } }),
        stage('createStac', { tries: 3, within: '2m', spent: { move: 'FAILED' } }),
      ],
      then: { done: 'COMPLETED', partial: 'COMPLETED_WITH_ERRORS' },
    },
    COMPLETED: { ends: 'done', reopens: 'QUEUED' },
    COMPLETED_WITH_ERRORS: { ends: 'done', reopens: 'QUEUED' },
    FAILED: { ends: 'failed', reopens: 'QUEUED' },
  },
});

export const rasterProcess = definePipeline({
  name: 'raster-process',
  start: 'QUEUED',
  ...geo,
  cancelled: 'FAILED',
  dedupes: 'all',
  states: {
    QUEUED: { rests: 'backlog', then: { claimed: 'PROCESSING' } },
    PROCESSING: {
      does: [
        stage('validateRaster', { tries: 3, within: '10m', spent: { move: 'FAILED' } }),
        stage('createCog', { tries: 3, within: '6h', progressWithin: '10m', spent: { move: 'FAILED' } }),
        stage('createStac', { tries: 3, within: '2m', spent: { move: 'FAILED' } }),
      ],
      then: { done: 'COMPLETED' },
    },
    COMPLETED: { ends: 'done', reopens: 'QUEUED' },
    FAILED: { ends: 'failed', reopens: 'QUEUED' },
  },
});

export const SPEC_TABLES = [file, conversation, vectorIngest, rasterProcess] as const;
