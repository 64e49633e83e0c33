import type { RuleHead } from '../rule.js';

/** Rules of the format. A finding of medium severity or above makes the structure invalid; a lower one is worth a
 *  reviewer's look. */
export const STRUCTURE = {
  missing: head(
    'skill-md-missing',
    'No SKILL.md',
    'medium',
    'A skill begins with SKILL.md in its folder.',
    'Add a SKILL.md.',
  ),
  manyFiles: head(
    'too-many-files',
    'Too many files',
    'medium',
    'More files than anyone reviews.',
    'Keep the skill under 500 files.',
  ),
  largeFolder: head(
    'folder-too-large',
    'Skill too large',
    'medium',
    'All files together are limited to 500 KB.',
    'Remove what the skill does not need.',
  ),
  largeFile: head(
    'file-too-large',
    'File too large',
    'medium',
    'A file over 100 KB is not scanned, so it can’t pass.',
    'Split the file, or leave it out.',
  ),
  badPath: head(
    'path-unsafe',
    'Unsafe path',
    'high',
    'A path that leaves the folder, is absolute or holds control characters fools whoever unpacks or lists it.',
    'Rename the file with plain characters.',
  ),
  archive: head(
    'archive',
    'Archive',
    'high',
    'What is packed can’t be read, so it can’t be reviewed.',
    'Put the files themselves into the skill.',
  ),
  binary: head(
    'binary',
    'Binary file',
    'high',
    'What is not text can’t be reviewed.',
    'Leave it out, or link to where it is published.',
  ),
  unreadable: head(
    'not-utf-8',
    'Not readable as UTF-8',
    'high',
    'Text in another encoding hides from every scan.',
    'Save the file as UTF-8.',
  ),
  program: head(
    'program-file',
    'Program file',
    'high',
    'A file whose name makes a system run it.',
    'Leave programs and installers out.',
  ),
  extension: head(
    'extension-unknown',
    'Unusual kind of file',
    'low',
    'A file of a kind that skills do not usually hold.',
    'Check that the skill needs it.',
  ),
  hidden: head(
    'hidden-file',
    'Hidden file',
    'medium',
    'A file that listings leave out, where nobody looks.',
    'Rename it without the leading dot, or leave it out.',
  ),
  executable: head(
    'executable-bit',
    'Executable file',
    'low',
    'A file that can be run by its name.',
    'Take the executable bit away unless it is needed.',
  ),
  noFrontMatter: head(
    'front-matter-missing',
    'No front matter',
    'medium',
    'SKILL.md begins with YAML between two lines of three dashes.',
    'Add name and description between --- lines.',
  ),
  codeFrontMatter: head(
    'front-matter-code',
    'Front matter in another language',
    'high',
    'Some readers run front matter that names a programming language.',
    'Use plain YAML after three dashes.',
  ),
  badFrontMatter: head(
    'front-matter-invalid',
    'Front matter is not valid YAML',
    'medium',
    'Readers would guess, each in another way.',
    'Mend the YAML.',
  ),
  bomb: head(
    'front-matter-bomb',
    'Front matter that unfolds',
    'high',
    'Aliases and nesting that grow without bound when read.',
    'Write the front matter out, flat and short.',
  ),
  noName: head(
    'name-invalid',
    'No valid name',
    'medium',
    'The name is 1 to 64 letters, digits, hyphens, underscores, dots or spaces.',
    'Give the skill a plain name.',
  ),
  description: head(
    'description-length',
    'Description missing, too short or too long',
    'medium',
    'The description decides when a skill is used: 10 to 1024 characters.',
    'Say in 10 to 1024 characters what the skill does and when.',
  ),
} as const satisfies Record<string, RuleHead>;

// eslint-disable-next-line max-params -- a row of the table above
function head(id: string, name: string, severity: RuleHead['severity'], description: string, remedy: string): RuleHead {
  return { id: `structure.${id}`, name, severity, category: 'structure', description, remedy };
}
