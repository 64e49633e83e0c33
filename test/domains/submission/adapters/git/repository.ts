import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { constants, deflateRawSync, deflateSync } from 'node:zlib';

/** A row of a tree object, as raw as a hostile client would push it. */
export interface Row {
  mode: string;
  name: string | Buffer;
  id: string;
}

/** A bare repository whose objects are written by hand, because git would refuse to write most of them. */
export interface HandMade {
  folder: string;
  blob(content: string | Buffer): string;
  tree(rows: readonly Row[]): string;
  /** Commits a tree and points a ref at it. */
  commit(tree: string, ref?: string): string;
  put(type: string, content: Buffer): string;
  point(ref: string, id: string): void;
  /** Files by path, content as text; `*` behind a path makes it executable. */
  folderOf(files: Readonly<Record<string, string | Buffer>>): string;
}

export function handMadeRepository(folder: string, settings: readonly string[] = []): HandMade {
  mkdirSync(join(folder, 'objects'), { recursive: true });
  mkdirSync(join(folder, 'refs', 'heads'), { recursive: true });
  writeFileSync(join(folder, 'HEAD'), 'ref: refs/heads/main\n');
  writeFileSync(
    join(folder, 'config'),
    ['[core]', 'bare = true', '[uploadpack]', 'allowFilter = true', ...settings].join('\n'),
  );

  function put(type: string, content: Buffer): string {
    const whole = Buffer.concat([Buffer.from(`${type} ${content.length}\0`), content]);
    const id = createHash('sha1').update(whole).digest('hex');
    write(join(folder, 'objects', id.slice(0, 2), id.slice(2)), deflateSync(whole, { level: 1 }));
    return id;
  }
  function point(ref: string, id: string): void {
    write(join(folder, ref), `${id}\n`);
  }
  function tree(rows: readonly Row[]): string {
    const parts = rows.flatMap(({ mode, name, id }) => [
      Buffer.from(`${mode} `),
      Buffer.from(name as string),
      Buffer.from([0]),
      Buffer.from(id, 'hex'),
    ]);
    return put('tree', Buffer.concat(parts));
  }
  function blob(content: string | Buffer): string {
    return put('blob', Buffer.from(content as string));
  }
  function folderOf(files: Readonly<Record<string, string | Buffer>>): string {
    const names = [...new Set(Object.keys(files).map((path) => path.split('/')[0] ?? ''))];
    const rows = names.map((name): Row => {
      const content = files[name];
      if (content !== undefined) {
        return { mode: name.endsWith('*') ? '100755' : '100644', name: name.replace(/\*$/, ''), id: blob(content) };
      }
      const below = Object.entries(files).filter(([path]) => path.startsWith(`${name}/`));
      const inside = Object.fromEntries(below.map(([path, each]) => [path.slice(name.length + 1), each]));
      return { mode: '40000', name, id: folderOf(inside) };
    });
    return tree(rows.toSorted((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1)));
  }
  function commit(treeId: string, ref = 'refs/heads/main'): string {
    const who = 'A <a@example.com> 1700000000 +0000';
    const id = put('commit', Buffer.from(`tree ${treeId}\nauthor ${who}\ncommitter ${who}\n\nx\n`));
    point(ref, id);
    return id;
  }
  return { folder, blob, tree, commit, put, point, folderOf };
}

/** git sorts folders as if their names ended with a slash. */
function orderOf({ mode, name }: Row): string {
  return mode === '40000' ? `${String(name)}/` : String(name);
}

function write(file: string, content: string | Buffer): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
}

/** A valid SKILL.md. */
export function skillFile(name: string): string {
  return `---\nname: ${name}\ndescription: Shows how a skill is fetched.\n---\n\n# ${name}\n`;
}

/** A repository of one skill, `greet`, whose folder holds these rows besides its SKILL.md. */
export function commitGreet(
  repository: HandMade,
  rows: readonly Row[],
  skill: string | Buffer = skillFile('greet'),
): void {
  const own = { mode: '100644', name: 'SKILL.md', id: repository.blob(skill) };
  const greet = repository.tree([own, ...rows]);
  repository.commit(repository.tree([{ mode: '40000', name: 'greet', id: greet }]));
}

/** Nine folders of ten names each that all lead to the next: few objects, and more files than a disk holds. */
export function bombOf(made: HandMade): string {
  let id = made.folderOf({ x: 'x' });
  for (let level = 0; level < 9; level += 1) {
    const below = id;
    id = made.tree(Array.from({ length: 10 }, (_, n) => ({ mode: '40000', name: `d${n}`, id: below })));
  }
  return id;
}

/** A blob of nothing but zeros, put together from one compressed piece: making it the usual way takes ten times as
 *  long. */
export function hugeBlob(folder: string, bytes: number): string {
  const piece = Buffer.alloc(2 ** 20);
  const head = Buffer.from(`blob ${bytes}\0`);
  const hash = createHash('sha1').update(head);
  for (let done = 0; done < bytes; done += piece.length) hash.update(piece);
  const id = hash.digest('hex');
  const flushed = { level: 9, finishFlush: constants.Z_FULL_FLUSH };
  const compressed = deflateRawSync(piece, flushed);
  write(
    join(folder, 'objects', id.slice(0, 2), id.slice(2)),
    Buffer.concat([
      Buffer.from([0x78, 0x01]),
      deflateRawSync(head, flushed),
      ...Array.from({ length: bytes / piece.length }, () => compressed),
      deflateRawSync(Buffer.alloc(0)),
      adlerOf(head, bytes),
    ]),
  );
  return id;
}

/** The checksum at a zlib stream's end: of the head, and of zeros, which only carry the first sum on into the
 *  second. */
function adlerOf(head: Buffer, zeros: number): Buffer {
  let [a, b] = [1, 0];
  for (const byte of head) {
    a = (a + byte) % 65_521;
    b = (b + a) % 65_521;
  }
  b = (b + a * (zeros % 65_521)) % 65_521;
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(b * 65_536 + a);
  return sum;
}
