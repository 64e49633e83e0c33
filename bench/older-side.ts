import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { join as joinUrl } from 'node:path/posix';
import { readMoves } from '../scripts/house/read-tree.js';
import { projectRoot } from '../src/config.js';
import type { OlderBuild } from '../test/support/older-build.js';

/** Makes the older tree able to run `entry` of bench. A commit that has the file runs its own. Another one is given the present
 *  `files`, whose imports are set to where that commit keeps what they name. */
export function giveSide({ root, commit }: OlderBuild, entry: string, files: readonly string[]): void {
  if (existsSync(join(root, 'bench', entry))) return;
  const homes = new Map([...readMoves(projectRoot, commit)].map(([old, present]) => [present, old]));
  for (const file of [entry, ...files]) {
    const text = readFileSync(join(projectRoot, 'bench', file), 'utf8');
    writeFileSync(join(root, 'bench', file), withImportsOf(text, homes));
  }
}

/** The text of a file of bench, with each import of src set to where the file was. */
export function withImportsOf(text: string, homes: ReadonlyMap<string, string>): string {
  return text.replace(/(from ')\.\.\/(src\/[^']+)\.js(')/g, (_, before: string, path: string, after: string) => {
    const home = homes.get(`${path}.ts`) ?? `${path}.ts`;
    return `${before}${joinUrl('..', home).replace(/\.ts$/, '.js')}${after}`;
  });
}

/** A process of a tree's bench folder that answers each message with one message. */
export interface SideProcess {
  pid: number;
  ask<T>(asked: object): Promise<T>;
  /** Comes back when the process is gone: its servers may be stopped then. */
  stop(): Promise<void>;
}

/** Comes back when the process says that it is ready. */
export async function forkSide(root: string, entry: string, args: readonly string[]): Promise<SideProcess> {
  const child = fork(join(root, 'bench', entry), [...args], { cwd: root });
  await answerOf(child, root);
  return {
    pid: child.pid ?? 0,
    async ask<T>(asked: object) {
      const answer = answerOf(child, root);
      child.send(asked);
      return (await answer) as T;
    },
    async stop() {
      if (!child.connected) return;
      const gone = once(child, 'exit');
      child.disconnect();
      await gone;
    },
  };
}

/** The next message. A process that has ended sends none, and a message with an error is thrown. */
async function answerOf(child: ChildProcess, root: string): Promise<unknown> {
  const over = new AbortController();
  const { signal } = over;
  const ended = once(child, 'exit', { signal }).then(([code]) => {
    throw new Error(`the process that measures ${root} ended with ${String(code)}`);
  });
  ended.catch(() => undefined);
  try {
    const [answer] = (await Promise.race([once(child, 'message', { signal }), ended])) as [unknown];
    const { error } = Object(answer) as { error?: string };
    if (error !== undefined) throw new Error(`${root}: ${error}`);
    return answer;
  } finally {
    over.abort();
  }
}
