import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  extractorOf,
  extractorProblemsIn,
  extractorVariables,
} from '../../../../src/domains/file/config/extractor-settings.js';
import { file } from '../../../../src/domains/file/table.js';

const variables = z.object(extractorVariables);

describe('the settings of the extractor', () => {
  it('have defaults that fit below the limit of the stage', () => {
    const given = variables.parse({});
    expect(extractorOf(given, '/project')).toMatchObject({ timeoutMs: 240_000, maxBytes: 1_024 ** 3 });
    expect(extractorProblemsIn(given, { file })).toEqual([]);
  });

  it('refuse a time limit that the stage would cut short', () => {
    expect(variables.safeParse({ FILE_EXTRACT_TIMEOUT_MS: '600000' }).success).toBe(false);
    const extracting = { ...file.states.extracting, does: { ...file.states.extracting.does, within: '5m' as const } };
    const table = { ...file, states: { ...file.states, extracting } };
    expect(extractorProblemsIn(variables.parse({}), { file: table })).toEqual([
      'FILE_STAGE_WITHIN: expected at least 360000ms for extract, which is FILE_EXTRACT_TIMEOUT_MS and 120000 ms to fetch the file, got 5m',
    ]);
  });

  it('place the temporary files inside the project where the path is relative', () => {
    const given = variables.parse({ FILE_EXTRACT_TEMP_DIR: 'tmp' });
    expect(extractorOf(given, '/project').temporaryFolder).toBe('/project/tmp');
  });
});
