import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../../src/start/parts/from-domains.js';
import { stageOf } from '../../../src/core/machine.js';
import { canary } from '../../../src/domains/canary/table.js';
import { pipelinesOf } from '../../../src/start/parts/pipelines.js';

describe('the heartbeat timeout that an operator sets', () => {
  it('holds for every stage, those of a fan-out too, and changes nothing else', () => {
    const { canary: table } = pipelinesOf(loadConfig({ CANARY_BEATS: '7s' }));

    if (!table) throw new Error('there is no canary');
    for (const stage of ['first', 'spread', 'second', 'third']) {
      expect(stageOf(table, stage).row).toEqual({ ...stageOf(canary, stage).row, beats: '7s' });
    }
    expect(pipelinesOf(loadConfig({}))['canary']?.states).toEqual(canary.states);
  });
});
