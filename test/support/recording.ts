import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import type { Client } from '@temporalio/client';
import { executionsOf, idOf, type Named } from './history.js';

const folder = resolve(import.meta.dirname, '../histories');

export interface Recording {
  /** `<run>.json`, or `<run>-2.json` for the second execution of one that continued as new. */
  name: string;
  workflowId: string;
  history: unknown;
}

/** A history is plain JSON: what follows reads it without the protocol's types. */
export interface HistoryEvent {
  eventType: string;
  [attributes: string]: unknown;
}

export function listRecordings(): Recording[] {
  const files = readdirSync(folder).filter((name) => name.endsWith('.json'));
  return files.sort().map((file) => {
    const { workflowId, history } = JSON.parse(readFileSync(join(folder, file), 'utf8')) as Omit<Recording, 'name'>;
    return { name: basename(file, '.json'), workflowId, history };
  });
}

export function eventsOf({ history }: Pick<Recording, 'history'>): HistoryEvent[] {
  return (history as { events: HistoryEvent[] }).events;
}

export async function record(client: Client, name: string, run: Named): Promise<void> {
  mkdirSync(folder, { recursive: true });
  for (const file of readdirSync(folder))
    if (new RegExp(`^${name}(-\\d+)?\\.json$`).test(file)) rmSync(join(folder, file));
  const executions = await executionsOf(client, run);
  for (const [at, { json }] of executions.entries()) {
    const file = executions.length === 1 ? `${name}.json` : `${name}-${String(at + 1)}.json`;
    const recording = { workflowId: idOf(run), history: withoutTraces(json) };
    writeFileSync(join(folder, file), `${JSON.stringify(recording, null, 1)}\n`);
  }
}

/** Names of machines and paths on them belong to nobody but the machine. */
function withoutTraces(json: unknown): unknown {
  return JSON.parse(JSON.stringify(json), (key, value: unknown) => {
    if (key === 'stackTrace') return undefined;
    return key === 'identity' && value !== '' ? 'recorded' : value;
  });
}
