import { expect, it } from 'vitest';
import { diagramOf } from '../../src/core/diagram.js';
import { batched, resting, reviewed, spreadLast, straight } from '../support/tables.js';

it('draws a pipeline as a Mermaid diagram, with its recovery moves in one note', () => {
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

it('shows stages that run once per unit, and how many items a state admits', () => {
  expect(diagramOf(spreadLast)).toContain('note right of INDEXING: does split, index × N\n');
  expect(diagramOf(batched)).toContain('note right of processing: does gather, polish (2 at once)\n');
});

it('shows which person a state awaits', () => {
  expect(diagramOf(reviewed)).toContain('note right of NEEDS_REVIEW: awaits reviewer\n');
});

it('ends every line with a line break', () => {
  const lines = diagramOf(straight).split('\n');
  expect(lines.at(-1)).toBe('');
  expect(lines.slice(1, -1).every((line) => line.startsWith('  '))).toBe(true);
});
