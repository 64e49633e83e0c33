import { basename, extname } from 'node:path/posix';
import { MAX_READ_FILE_BYTES } from '../../core/text/skill-content.js';
import type { SkillFile } from '../../ports/skill.js';
import { fileKindOf } from './file-kind.js';
import { frontMatterHits } from './front-matter-hits.js';
import type { Hit } from './hit.js';
import type { RuleHead } from './rule.js';
import { STRUCTURE } from './rules/structure.js';
import { HARMLESS_DOTFILES, PROGRAM_EXTENSIONS, USUAL_EXTENSIONS } from './rules/file-names.js';

const MAX_FOLDER_BYTES = 500 * 1_024;
const MAX_FILES = 500;

export interface FileText {
  path: string;
  text: string;
}

/** Checks the skill's structure, and returns the texts that the engines can scan. */
export function readSkill(files: readonly SkillFile[]): { hits: Hit[]; texts: FileText[] } {
  const hits = folderHits(files);
  const texts: FileText[] = [];
  for (const file of files.slice(0, MAX_FILES)) {
    hits.push(...nameHits(file));
    const read = readFile(file);
    if ('rule' in read) hits.push(hitOf(read.rule, file.path, read.match));
    else texts.push({ path: file.path, text: read.text });
  }
  const skill = texts.find(({ path }) => path === 'SKILL.md');
  if (skill) hits.push(...frontMatterHits(skill.text).map((fault) => ({ ...fault, file: skill.path, context: '' })));
  return { hits, texts };
}

function folderHits(files: readonly SkillFile[]): Hit[] {
  const bytes = files.reduce((sum, each) => sum + each.bytes.byteLength, 0);
  const hits: Hit[] = [];
  if (!files.some(({ path }) => path === 'SKILL.md')) hits.push(hitOf(STRUCTURE.missing, 'SKILL.md', ''));
  if (files.length > MAX_FILES) hits.push(hitOf(STRUCTURE.manyFiles, '', `${files.length} files`));
  if (bytes > MAX_FOLDER_BYTES) hits.push(hitOf(STRUCTURE.largeFolder, '', `${bytes} bytes`));
  return hits;
}

function nameHits({ path, isExecutable }: SkillFile): Hit[] {
  const hits: Hit[] = [];
  const extension = extname(path).toLowerCase();
  if (isUnsafe(path)) hits.push(hitOf(STRUCTURE.badPath, path, JSON.stringify(path)));
  if (PROGRAM_EXTENSIONS.has(extension)) hits.push(hitOf(STRUCTURE.program, path, extension));
  else if (extension && !USUAL_EXTENSIONS.has(extension)) hits.push(hitOf(STRUCTURE.extension, path, extension));
  if (isHidden(path)) hits.push(hitOf(STRUCTURE.hidden, path, path));
  if (isExecutable) hits.push(hitOf(STRUCTURE.executable, path, path));
  return hits;
}

/** A path is unsafe if it has control or format characters (bidi overrides among them) or separators of other systems,
 *  or leads out of the folder. */
function isUnsafe(path: string): boolean {
  return /[\p{Cc}\p{Cf}\\]|^[/~]|^[a-z]:/iu.test(path) || path.split('/').some((part) => part === '..' || part === '');
}

function isHidden(path: string): boolean {
  const parts = path.split('/');
  return parts.some((part) => /^\.[^.]/.test(part)) && !HARMLESS_DOTFILES.has(basename(path));
}

function readFile({ bytes }: SkillFile): { text: string } | { rule: RuleHead; match: string } {
  if (bytes.byteLength > MAX_READ_FILE_BYTES) {
    const kind = fileKindOf(bytes.subarray(0, 512)).kind;
    const rule = kind === 'archive' ? STRUCTURE.archive : STRUCTURE.largeFile;
    return { rule, match: `${bytes.byteLength} bytes` };
  }
  const read = fileKindOf(bytes);
  return read.kind === 'text' ? { text: read.text } : { rule: STRUCTURE[read.kind], match: '' };
}

function hitOf(rule: RuleHead, file: string, match: string): Hit {
  return { rule, file, line: null, match, context: '' };
}
