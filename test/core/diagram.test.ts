import { expect, it } from 'vitest';
import { diagramOf } from '../../src/core/diagram.js';
import { batched, resting, spreadLast, straight } from '../support/tables.js';
import { submission } from '../../src/domains/submission/table.js';

it('draws a pipeline as Mermaid, recovery moves in one note', () => {
  expect(diagramOf(resting)).toBe(`stateDiagram-v2
  [*] --> registered
  registered --> queued: registered-confirmed
  queued --> converting: convert-claimed
  converting --> storing: convert-done
  converting --> failed: convert-failed
  storing --> ready: store-done
  storing --> failed: store-failed
  failed --> queued: retry
  note right of registered: rests, awaiting_upload
  note right of queued: rests, backlog
  note right of converting: does convert
  note right of storing: does store
  ready --> [*]
  failed --> [*]
  note left of registered
    cancelled → failed from every live state
    stuck-exhausted → failed from every live state
    rescue → queued from queued, converting, storing
  end note
`);
});

it('shows what is done once per unit, and how many may be in a state at once', () => {
  expect(diagramOf(spreadLast)).toContain('note right of INDEXING: does split, index × N\n');
  expect(diagramOf(batched)).toContain('note right of processing: does gather, polish (2 at once)\n');
});

it('shows a person who is waited for', () => {
  expect(diagramOf(submission)).toContain('note right of NEEDS_REVIEW: awaits admin\n');
});

it('ends every line, and nothing runs on', () => {
  const lines = diagramOf(straight).split('\n');
  expect(lines.at(-1)).toBe('');
  expect(lines.slice(1, -1).every((line) => line.startsWith('  '))).toBe(true);
});
