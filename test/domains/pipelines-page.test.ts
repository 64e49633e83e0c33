import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { pipelinesPage } from '../../scripts/write-diagrams.js';
import { diagramOf } from '../../src/core/diagram.js';
import { PIPELINES } from '../../src/domains/tables.js';
import { submission } from '../../src/domains/submission/table.js';
import { conversation } from '../support/spec-tables.js';

describe('docs/pipelines.md', () => {
  it('is what the tables say; if not, run `npx tsx scripts/write-diagrams.ts`', () => {
    const page = readFileSync(resolve(import.meta.dirname, '../../docs/pipelines.md'), 'utf8');
    expect(page).toBe(pipelinesPage(PIPELINES));
  });
});

describe('the page of pipelines', () => {
  const page = pipelinesPage({ submission, conversation });

  it('has a section and a diagram for each', () => {
    for (const pipeline of [submission, conversation]) {
      expect(page).toContain(`\n## ${pipeline.name}\n`);
      expect(page).toContain(`\n\`\`\`mermaid\n${diagramOf(pipeline)}\`\`\`\n`);
    }
  });

  it('tells when an item counts as stale and stuck, and how often it is rescued', () => {
    expect(page).toContain('Swept every 5m; stale after 3m, stuck after 5m without a sign of life.');
    expect(page).toContain('Rescued 3 times, with 3m, 10m, 30m between');
  });

  it('lists every stage with its tries, its times and what comes when they are spent', () => {
    const cells = page.split('\n').map((line) =>
      line
        .split('|')
        .map((cell) => cell.trim())
        .filter(Boolean),
    );
    expect(cells).toContainEqual(['TIER1_SCANNING', 'scanTier1', '4', '30m', '4s', 'TIER1_FAILED']);
    expect(cells).toContainEqual(['RECEIVED', 'checkVendor', '3', '2s', '–', 'leave']);
    expect(cells).toContainEqual(['processing', 'vice', '2', '30s', '4s', 'skip']);
  });
});
