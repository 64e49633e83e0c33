import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { pipelinesPage } from '../../scripts/write-diagrams.js';
import { diagramOf } from '../../src/core/diagram.js';
import { PIPELINES } from '../../src/domains/tables.js';
import { conversation, file } from '../support/spec-tables.js';
import { brief, several } from '../support/tables.js';

describe('docs/pipelines.md', () => {
  it('is what the tables say; if not, run `npx tsx scripts/write-diagrams.ts`', () => {
    const page = readFileSync(resolve(import.meta.dirname, '../../docs/pipelines.md'), 'utf8');
    expect(page).toBe(pipelinesPage(PIPELINES));
  });
});

describe('the page of pipelines', () => {
  const page = pipelinesPage({ file, conversation, brief, several });

  it('has a section and a diagram for each', () => {
    for (const pipeline of [file, conversation, brief, several]) {
      expect(page).toContain(`\n## ${pipeline.name}\n`);
      expect(page).toContain(`\n\`\`\`mermaid\n${diagramOf(pipeline)}\`\`\`\n`);
    }
  });

  it('tells when an item counts as stale and stuck, and how often it is rescued', () => {
    expect(page).toContain('Swept every 15m; stale after 10m, stuck after 30m without a sign of life.');
    expect(page).toContain('Rescued 3 times, with 3m, 10m, 30m between');
  });

  it('lists every stage with its tries, its times and what comes when they are spent', () => {
    const cells = page.split('\n').map((line) =>
      line
        .split('|')
        .map((cell) => cell.trim())
        .filter(Boolean),
    );
    expect(cells).toContainEqual(['embedding', 'embed', '3', '30m', '4s', 'failed']);
    expect(cells).toContainEqual(['LOOKING', 'look', '3', '2s', '–', 'FAILED']);
    expect(cells).toContainEqual(['WORKING', 'judge', '3', '10s', '4s', 'leave']);
    expect(cells).toContainEqual(['processing', 'vice', '2', '30s', '4s', 'skip']);
  });
});
