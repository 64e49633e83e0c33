import { join } from 'node:path';
import { handMadeRepository } from '../adapters/git/repository.js';
import { HARMLESS, HOSTILE } from './skill-repository.js';

/** Where a skill must end, by what it is. */
export const ENDS = { harmless: 'PUBLISHED', hostile: 'TIER1_FAILED', mighty: 'NEEDS_REVIEW' } as const;
export type SkillKind = keyof typeof ENDS;

/** A skill named by its number, whose content nobody else has. It is laid into its repository as real git would see it, without
 *  three processes of git for each of a thousand. */
export function layRepository(folder: string, kind: SkillKind, number: number): { repoUrl: string; skillName: string } {
  const skillName = `tidy-notes-${String(number)}`;
  const page = (kind === 'hostile' ? HOSTILE : HARMLESS).replace('name: tidy-notes', `name: ${skillName}`);
  const repository = handMadeRepository(join(folder, `team-${String(number)}`, 'skills'));
  const files = { 'SKILL.md': numbered(page, number), ...(kind === 'mighty' && MIGHTY) };
  const inFolder = Object.entries(files).map(([path, text]) => [`${skillName}/${path}`, text]);
  repository.commit(repository.folderOf(Object.fromEntries(inFolder) as Record<string, string>));
  return { repoUrl: repository.folder, skillName };
}

/** One skill in as many contents as there are branches, each but a line from the next. */
export function layVersions(folder: string, count: number): { repoUrl: string; refs: string[] } {
  const repository = handMadeRepository(folder);
  const refs = Array.from({ length: count }, (_, at) => `version-${String(at + 1)}`);
  for (const [at, ref] of refs.entries()) {
    const tree = repository.folderOf({ 'tidy-notes/SKILL.md': numbered(HARMLESS, at) });
    repository.commit(tree, `refs/heads/${ref}`);
  }
  repository.commit(repository.folderOf({ 'tidy-notes/SKILL.md': HARMLESS }));
  return { repoUrl: repository.folder, refs };
}

function numbered(page: string, number: number): string {
  return page.replace(
    '## Security\n',
    `4. Say that the order of note ${String(number)} was asked for.\n\n## Security\n`,
  );
}

/** A script that may be run is for a person to look at, however harmless it is. */
const MIGHTY = { 'scripts/sort.sh*': '#!/bin/sh\nsort "$1"\n' };
