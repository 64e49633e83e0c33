import { describe, expect, it } from 'vitest';
import { edgesOf, isEnd, rowOf, stageOf, stagesIn, stateNamesOf, type Via } from '../../src/core/machine.js';
import { fanOut, type Pipeline, stage } from '../../src/core/pipeline.js';
import { submission } from '../../src/domains/submission/table.js';
import { conversation, file, rasterProcess, vectorIngest } from '../support/spec-tables.js';

/** `A → B | C · D → E` as the specification writes it, one move a line. */
function written(text: string): string[] {
  const moves = text.split('·').flatMap((part) => {
    const [from = '', to = ''] = part.split('→');
    return to.split('|').map((each) => `${from.trim()} → ${each.trim()}`);
  });
  return moves.sort();
}

function movesBy(pipeline: Pipeline, ...vias: Via[]): string[] {
  const moves = edgesOf(pipeline).filter((edge) => vias.includes(edge.via));
  return [...new Set(moves.map(({ from, to }) => `${from} → ${to}`))].sort();
}

function finalStates(pipeline: Pipeline): string[] {
  return stateNamesOf(pipeline).filter((state) => isEnd(rowOf(pipeline, state)));
}

describe('stage', () => {
  it('is a row with its name', () => {
    const row = { tries: 2, within: '10s', spent: 'skip' } as const;
    expect(stage('work', row)).toEqual({ stage: 'work', ...row });
  });

  it('that fans out carries its width and its rule', () => {
    const row = { tries: 2, within: '10s', spent: { move: 'FAILED' } } as const;
    expect(fanOut('copy', { ...row, width: 8, needs: 'any' })).toEqual({
      stage: 'copy',
      ...row,
      fanOut: { width: 8, needs: 'any' },
    });
  });
});

describe("the specification's submission fits a table", () => {
  it('with its moves and no others', () => {
    const fromSource = written(
      `RECEIVED → VENDOR_APPROVED | TIER1_SCANNING · TIER1_SCANNING → TIER2_SCANNING | TIER1_FAILED ·
       TIER2_SCANNING → AUTO_APPROVED | NEEDS_REVIEW | REJECTED · NEEDS_REVIEW → TIER3_REVIEW | REJECTED ·
       TIER3_REVIEW → PUBLISHED | REJECTED · AUTO_APPROVED → PUBLISHED · VENDOR_APPROVED → PUBLISHED`,
    );
    expect(movesBy(submission, 'outcome', 'spent')).toEqual([...fromSource, 'VENDOR_APPROVED → REJECTED'].sort());
    expect(finalStates(submission)).toEqual(['PUBLISHED', 'REJECTED', 'TIER1_FAILED']);
  });

  it('with its recovery moves: every automatic state to REJECTED, and to a review while the judge stays away', () => {
    const automatic = ['RECEIVED', 'VENDOR_APPROVED', 'TIER1_SCANNING', 'TIER2_SCANNING', 'AUTO_APPROVED'];
    const rejected = automatic.map((state) => `${state} → REJECTED`);
    expect(movesBy(submission, 'exhaustion')).toEqual([...rejected, 'TIER2_SCANNING → NEEDS_REVIEW'].sort());
    expect(movesBy(submission, 'reopen', 'rescue')).toEqual([]);
  });

  it('with its words of the audit trail', () => {
    const words = new Set(edgesOf(submission).map((edge) => edge.trigger));
    expect([...words].sort()).toEqual([
      'admin-escalate',
      'admin-reject',
      'cancelled',
      'fetch-failed',
      'judge-unavailable',
      'non-vendor-submission',
      'publish-complete',
      'review-approve',
      'review-reject',
      'stuck-exhausted',
      'tier1-fail',
      'tier1-pass',
      'tier1-timeout',
      'tier2-concerns',
      'tier2-fail',
      'tier2-pass',
      'vendor-auto-verify',
    ]);
  });

  it('with its retries by cause', () => {
    expect(stageOf(submission, 'scanTier1').row).toMatchObject({ tries: 4, backoff: { first: '30s', max: '2m' } });
    expect(stageOf(submission, 'fetch').row).toMatchObject({
      tries: 2,
      within: '2m',
      spent: { move: 'TIER1_FAILED' },
    });
    for (const stage of ['fetch', 'fetchVendor']) {
      expect(stageOf(submission, stage).row).toMatchObject({ tries: 2, backoff: { first: '30s', max: '30s' } });
    }
    expect(stageOf(submission, 'judgeTier2').row).toMatchObject({ tries: 3, spent: 'leave' });
  });
});

describe("the specification's file fits a table", () => {
  it('with its moves and no others', () => {
    expect(movesBy(file, 'outcome')).toEqual(
      written(
        `registered → uploaded | queued · uploaded → queued · queued → extracting · extracting → chunking ·
         chunking → embedding · embedding → ready`,
      ),
    );
    const live = ['registered', 'uploaded', 'queued', 'extracting', 'chunking', 'embedding'];
    expect(movesBy(file, 'spent', 'cancel', 'exhaustion')).toEqual(live.map((state) => `${state} → failed`).sort());
    expect(movesBy(file, 'reopen')).toEqual(['failed → queued']);
    expect(movesBy(file, 'rescue')).toEqual(
      written('queued → queued · extracting → queued · chunking → queued · embedding → queued'),
    );
    expect(finalStates(file)).toEqual(['ready', 'failed']);
  });
});

describe("the specification's conversation fits a table", () => {
  it('with its moves and no others', () => {
    expect(movesBy(conversation, 'outcome', 'spent')).toEqual(
      written('active → processing · processing → processed | failed'),
    );
    expect(movesBy(conversation, 'rescue')).toEqual(['processing → active']);
    expect(movesBy(conversation, 'reopen')).toEqual(written('processed → active · failed → active'));
  });

  it('with eleven stages in order, two of them critical, each with its time', () => {
    const stages = stagesIn(rowOf(conversation, 'processing'));
    expect(stages.map(({ stage: name, tries, within, spent }) => [name, tries, within, spent])).toEqual([
      ['extraction', 3, '120s', { move: 'failed' }],
      ['persistence', 2, '30s', 'skip'],
      ['memory_update', 3, '60s', { move: 'failed' }],
      ['life_sim', 2, '60s', 'skip'],
      ['emotional', 2, '30s', 'skip'],
      ['vice', 2, '30s', 'skip'],
      ['game_state', 2, '30s', 'skip'],
      ['conflict', 2, '30s', 'skip'],
      ['touchpoint', 2, '30s', 'skip'],
      ['summary', 2, '60s', 'skip'],
      ['prompt_builder', 2, '90s', 'skip'],
    ]);
    expect(rowOf(conversation, 'processing')).toHaveProperty('admits', 10);
  });
});

describe("the specification's geo jobs fit a table", () => {
  it('with their moves and no others', () => {
    expect(movesBy(vectorIngest, 'outcome', 'spent', 'cancel')).toEqual(
      written('QUEUED → PROCESSING | FAILED · PROCESSING → COMPLETED | FAILED | COMPLETED_WITH_ERRORS'),
    );
    expect(movesBy(rasterProcess, 'outcome', 'spent', 'cancel')).toEqual(
      written('QUEUED → PROCESSING | FAILED · PROCESSING → COMPLETED | FAILED'),
    );
    expect(movesBy(vectorIngest, 'reopen')).toContain('FAILED → QUEUED');
  });

  it('with a bounded fan-out between two stages, all chunks or as asked', () => {
    const stages = stagesIn(rowOf(vectorIngest, 'PROCESSING'));
    expect(stages.map(({ stage: name, fanOut: spread }) => [name, spread?.needs])).toEqual([
      ['prepareChunks', undefined],
      ['uploadChunk', 'asked'],
      ['createStac', undefined],
    ]);
  });
});
