import { describe, expect, it } from 'vitest';
import { edgesOf } from '../../src/core/machine.js';
import { assertSoundTable } from '../../src/core/sound-table.js';
import { PIPELINES } from '../../src/domains/tables.js';

describe('the registry', () => {
  it.each(Object.entries(PIPELINES))('lists %s under its own name', (name, pipeline) => {
    expect(pipeline.name).toBe(name);
  });

  it.each(Object.entries(PIPELINES))('lists %s as a sound table', (_name, pipeline) => {
    expect(() => assertSoundTable(pipeline)).not.toThrow();
    expect(edgesOf(pipeline).length).toBeGreaterThan(0);
  });
});
