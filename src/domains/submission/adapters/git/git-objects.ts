import { isPathPart } from '../../core/address/skill-address.js';
import { fetchFailure, refusal } from './git-failure.js';
import type { GitProcess } from './git-process.js';

export interface ObjectHead {
  id: string;
  bytes: number;
}

/** Reads objects of a fetched repository, one after the other, from one `git cat-file --batch-command`. */
export interface GitObjects {
  /** Null: the repository does not have the object. */
  find(name: string): Promise<ObjectHead | null>;
  /** The caller has checked the object's size. */
  read(id: string): Promise<Buffer>;
}

export function createGitObjects(git: GitProcess): GitObjects {
  const output = git.stdout[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  let rest: Buffer = Buffer.alloc(0);

  async function more(): Promise<void> {
    const next = await output.next();
    if (next.done === true) throw fetchFailure((await git.ended).said);
    rest = Buffer.concat([rest, next.value]);
  }

  async function ask(request: string): Promise<ObjectHead | null> {
    git.stdin.write(`${request}\n`);
    while (!rest.includes('\n')) await more();
    const end = rest.indexOf('\n');
    const [, id, bytes] = /^([0-9a-f]{40}) \w+ (\d+)$/.exec(rest.toString('latin1', 0, end)) ?? [];
    rest = rest.subarray(end + 1);
    return id === undefined ? null : { id, bytes: Number(bytes) };
  }

  return {
    find: (name) => ask(`info ${name}`),
    async read(id) {
      const head = await ask(`contents ${id}`);
      if (head === null)
        throw refusal('repoUrl', `names a repository that lacks a part of itself (${id}); push it again`);
      while (rest.length < head.bytes + 1) await more();
      const bytes = Buffer.from(rest.subarray(0, head.bytes));
      rest = rest.subarray(head.bytes + 1);
      return bytes;
    },
  };
}

export interface TreeEntry {
  kind: 'file' | 'folder' | 'symlink' | 'submodule' | 'unknown';
  /** Readable text, whatever the bytes of the name are. */
  name: string;
  /** Whether the name means what it looks like: UTF-8, no control characters, not `..`. */
  isPlain: boolean;
  isExecutable: boolean;
  id: string;
}

const KINDS: Readonly<Record<string, TreeEntry['kind']>> = {
  '100644': 'file',
  '100664': 'file',
  '100755': 'file',
  '40000': 'folder',
  '120000': 'symlink',
  '160000': 'submodule',
};

const ID_BYTES = 20;

/** A tree object is a sequence of `mode name\0id`. git itself never reads the names here, so it can't take a name
 *  for an option or a path. */
export function entriesOf(tree: Buffer): TreeEntry[] {
  const entries: TreeEntry[] = [];
  let at = 0;
  while (at < tree.length) {
    const space = tree.indexOf(0x20, at);
    const zero = tree.indexOf(0, space);
    if (space < 0 || zero < 0 || zero + ID_BYTES >= tree.length) throw damagedRefusal();
    const mode = tree.toString('latin1', at, space);
    const bytes = tree.subarray(space + 1, zero);
    const name = bytes.toString('utf8');
    entries.push({
      kind: KINDS[mode] ?? 'unknown',
      name,
      isPlain: Buffer.from(name, 'utf8').equals(bytes) && isPathPart(name),
      isExecutable: mode === '100755',
      id: tree.toString('hex', zero + 1, zero + 1 + ID_BYTES),
    });
    at = zero + 1 + ID_BYTES;
  }
  return entries;
}

function damagedRefusal(): Error {
  return refusal('repoUrl', 'names a repository with a damaged list of files; run git fsck on it and push it again');
}
