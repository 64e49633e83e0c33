import { refusal, showName } from './git-failure.js';
import type { TreeEntry } from './git-objects.js';
import { type Folders, joinPath, MAX_DEPTH, type SkillFolder } from './skill-folder.js';

export interface ListedFile {
  /** Relative to the skill's folder. */
  path: string;
  id: string;
  isExecutable: boolean;
}

/** Ten times as many as the largest published skill has. */
export const MAX_FILES = 500;

/** Entries that the scans would not see, or not see as they are, are refused. */
const REFUSED: Readonly<Record<Exclude<TreeEntry['kind'], 'file' | 'folder'>, string>> = {
  symlink: 'is a symbolic link; put the file itself in its place',
  submodule: 'is a submodule, which is not fetched; put its files in its place',
  unknown: 'is neither a file nor a folder; remove it',
};

export async function listFiles(folders: Folders, { path, id }: SkillFolder, maxFiles: number): Promise<ListedFile[]> {
  const files: ListedFile[] = [];
  const seen = new Set<string>();

  async function walk(folder: string, folderId: string, depth: number): Promise<void> {
    if (depth > MAX_DEPTH) throw refusal('skillPath', `leads to folders more than ${MAX_DEPTH} deep; flatten them`);
    for (const entry of await folders(folderId)) {
      const at = joinPath(folder, entry.name);
      assertPlain(entry, joinPath(path, at), seen);
      if (entry.kind === 'folder') await walk(at, entry.id, depth + 1);
      else files.push({ path: at, id: entry.id, isExecutable: entry.isExecutable });
      if (files.length > maxFiles) throw tooManyRefusal(maxFiles);
    }
  }

  await walk('', id, 1);
  return files;
}

function assertPlain({ kind, isPlain }: TreeEntry, path: string, seen: Set<string>): void {
  if (!isPlain) {
    throw refusal(
      'skillPath',
      `leads to a file whose name is not plain text: ${showName(path)}; rename it in letters without control characters`,
    );
  }
  if (kind !== 'file' && kind !== 'folder')
    throw refusal('skillPath', `leads to ${showName(path)}, which ${REFUSED[kind]}`);
  if (seen.has(path)) throw refusal('skillPath', `leads to ${showName(path)} twice; run git fsck and push again`);
  seen.add(path);
}

function tooManyRefusal(maxFiles: number): Error {
  return refusal('skillPath', `leads to more than ${maxFiles} files; remove what the skill does not need`);
}
