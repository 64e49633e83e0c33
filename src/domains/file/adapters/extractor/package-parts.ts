import { posix } from 'node:path';
import type { OpenedZip } from './open-zip.js';
import { readXml } from './read-xml.js';

export interface Relation {
  id: string;
  /** The last word of the type, which is the same in both kinds of namespaces. */
  type: string;
  /** The path of the part in the archive. */
  target: string;
}

/** The parts that a part refers to. Targets outside the archive are left out: nothing is fetched. */
export async function relationsOf(zip: OpenedZip, part: string): Promise<Relation[]> {
  const folder = posix.dirname(part);
  const path = posix.join(folder, '_rels', `${posix.basename(part)}.rels`);
  if (!zip.has(path)) return [];
  const relations: Relation[] = [];
  readXml(await zip.read(path), {
    open(name, { Id: id = '', Type: type = '', Target: target = '', TargetMode: mode }) {
      if (name !== 'Relationship' || mode === 'External') return;
      const absolute = target.startsWith('/') ? target.slice(1) : posix.join(folder, target);
      relations.push({ id, type: posix.basename(type), target: absolute });
    },
  });
  return relations.filter((relation) => zip.has(relation.target));
}

/** The path of the part that the document begins with. */
export async function mainPartOf(zip: OpenedZip): Promise<string | undefined> {
  const relations = await relationsOf(zip, '');
  return relations.find(({ type }) => type === 'officeDocument')?.target;
}

/** In the order in which the program numbered them. */
export function partsNamed(zip: OpenedZip, pattern: RegExp): string[] {
  return zip.names.filter((name) => pattern.test(name)).sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
}
