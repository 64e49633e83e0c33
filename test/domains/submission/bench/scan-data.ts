import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { z } from 'zod';
import type { SkillFile } from '../../../../src/domains/submission/ports/skill.js';

const DATA = resolve(import.meta.dirname, '../../../../../shared/data');
const LABELS = join(DATA, 'skills/labels.json');
const TAR = join(DATA, 'skills/skills-malicious.tar.gz');

const label = z.object({
  path: z.string(),
  label: z.enum(['benign', 'malicious']),
  attackType: z.string().nullish(),
  source: z.string(),
  binaryOrArchive: z.array(z.string()).nullish(),
});

export interface Sample {
  id: string;
  label: 'benign' | 'malicious';
  attackType: string;
  source: string;
  /** Holds an archive or a binary, which the structural rules refuse whatever it is meant for. */
  breaksStructure: boolean;
  files: SkillFile[];
}

/** The labelled skills, or undefined where they are not. The malicious ones stay in memory: nothing of them touches the disk. */
export function readSamples(): Sample[] | undefined {
  if (!existsSync(LABELS) || !existsSync(TAR)) return undefined;
  const packed = readTar(gunzipSync(readFileSync(TAR)));
  return z
    .array(label)
    .parse(JSON.parse(readFileSync(LABELS, 'utf8')))
    .map(({ path, label, attackType, source, binaryOrArchive }) => ({
      ...{ id: path.split('/').at(-1) ?? path, label, attackType: attackType ?? '', source },
      breaksStructure: (binaryOrArchive?.length ?? 0) > 0,
      files: label === 'benign' ? readFolder(join(DATA, path)) : filesUnder(packed, `${path}/`),
    }));
}

function readFolder(folder: string): SkillFile[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
    .map((file) => ({ path: relative(folder, file), bytes: readFileSync(file), isExecutable: false }));
}

function filesUnder(packed: ReadonlyMap<string, Buffer>, prefix: string): SkillFile[] {
  return [...packed]
    .filter(([path]) => path.startsWith(prefix))
    .map(([path, bytes]) => ({ path: path.slice(prefix.length), bytes, isExecutable: false }));
}

/** Plain files of a tar archive: blocks of 512 bytes, a header and then the content. */
function readTar(bytes: Buffer): Map<string, Buffer> {
  const files = new Map<string, Buffer>();
  for (let at = 0; at + 512 <= bytes.length && bytes[at] !== 0;) {
    const text = (from: number, length: number) =>
      bytes.toString('utf8', at + from, at + from + length).replace(/\0.*$/s, '');
    const size = parseInt(text(124, 12), 8);
    const isFile = text(156, 1) === '0' || text(156, 1) === '';
    const path = [text(345, 155), text(0, 100)].filter(Boolean).join('/').replace(/^\.\//, '');
    if (isFile) files.set(path, bytes.subarray(at + 512, at + 512 + size));
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return files;
}
