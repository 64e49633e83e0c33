import { describe, expect, it } from 'vitest';
import { rowOf, stagesIn } from '../../src/core/machine.js';
import { fanOut, stage } from '../../src/core/pipeline.js';
import { conversation, file, rasterProcess, vectorIngest } from '../support/spec-tables.js';
import { finalStates, movesBy, movesIn } from '../support/table-moves.js';

describe('stage', () => {
  it('is a row with its name', () => {
    const row = { tries: 2, within: '10s', spent: 'skip' } as const;
    expect(stage('work', row)).toEqual({ stage: 'work', ...row });
  });

  it('keeps the width and the rule of a fan-out', () => {
    const row = { tries: 2, within: '10s', spent: { move: 'FAILED' } } as const;
    expect(fanOut('copy', { ...row, width: 8, needs: 'any' })).toEqual({
      stage: 'copy',
      ...row,
      fanOut: { width: 8, needs: 'any' },
    });
  });
});

describe("the specification's file fits a table", () => {
  it('with its moves and no others', () => {
    expect(movesBy(file, 'outcome')).toEqual(
      movesIn(
        `registered → uploaded | queued · uploaded → queued · queued → extracting · extracting → chunking ·
         chunking → embedding · embedding → ready`,
      ),
    );
    const live = ['registered', 'uploaded', 'queued', 'extracting', 'chunking', 'embedding'];
    expect(movesBy(file, 'spent', 'cancel', 'exhaustion')).toEqual(live.map((state) => `${state} → failed`).sort());
    expect(movesBy(file, 'reopen')).toEqual(['failed → queued']);
    expect(movesBy(file, 'rescue')).toEqual(
      movesIn('queued → queued · extracting → queued · chunking → queued · embedding → queued'),
    );
    expect(finalStates(file)).toEqual(['ready', 'failed']);
  });
});

describe("the specification's conversation fits a table", () => {
  it('with its moves and no others', () => {
    expect(movesBy(conversation, 'outcome', 'spent')).toEqual(
      movesIn('active → processing · processing → processed | failed'),
    );
    expect(movesBy(conversation, 'rescue')).toEqual(['processing → active']);
    expect(movesBy(conversation, 'reopen')).toEqual(movesIn('processed → active · failed → active'));
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
      movesIn('QUEUED → PROCESSING | FAILED · PROCESSING → COMPLETED | FAILED | COMPLETED_WITH_ERRORS'),
    );
    expect(movesBy(rasterProcess, 'outcome', 'spent', 'cancel')).toEqual(
      movesIn('QUEUED → PROCESSING | FAILED · PROCESSING → COMPLETED | FAILED'),
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
