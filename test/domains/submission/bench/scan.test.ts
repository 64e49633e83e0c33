import { expect, it, vi } from 'vitest';
import { benchmark } from './scan.bench.js';

it('ends with one line of JSON where the labelled skills are missing, and says that no goal was measured', async () => {
  let output = '';
  const write = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    output += String(text);
    return true;
  });
  try {
    expect(await benchmark(() => undefined)).toBe(true);
  } finally {
    write.mockRestore();
  }
  expect(JSON.parse(output.trimEnd().split('\n').at(-1) ?? '')).toEqual({
    ...{ benchmark: 'scan', skipped: true, met: null },
  });
});
