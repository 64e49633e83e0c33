import { AppError } from '../../../../core/errors.js';

/** Enough to understand git's reason, and short enough for a list. */
const MAX_EXCERPT_CHARACTERS = 200;

/** A fault that the owner of the skill can put right. `field` is the faulty part of the address. */
export function refusal(field: 'repoUrl' | 'skillPath' | 'skillName' | 'ref', message: string): AppError {
  return new AppError('bad_input', `${field} ${message}`, { errors: [{ path: field, message }] });
}

export function unavailable(sentence: string, cause?: unknown): AppError {
  return new AppError('source_unavailable', sentence, { cause });
}

const PRIVATE = 'names a repository that is private or does not exist; make it public or correct the address';
const MOVED =
  'leads to another address, and redirects are not followed; give the address the repository has now (some hosts want .git at its end)';
const LARGE = 'names a repository that is too large to be looked at; move the skill to a smaller one';
const NO_REPOSITORY = 'leads to something that is not a git repository; correct the address';

/** git's messages for faults that another try does not mend. Any other message may come from an outage. */
const REFUSALS: readonly (readonly [RegExp, string])[] = [
  [/^fatal: couldn't find remote ref HEAD$/m, 'names an empty repository; push a commit with the skill in it'],
  [/returned error: 401$|^fatal: could not read Username|^fatal: Authentication failed/m, PRIVATE],
  [/returned error: 404$|^fatal: repository '.*' not found$/m, PRIVATE],
  [/returned error: 3\d\d$|^fatal: unable to update url base from redirection/m, MOVED],
  [/returned error: 4(?!03|08|29)\d\d$/m, 'names a repository that its host refuses to serve; correct the address'],
  [/File too large/, LARGE],
  [/out of memory|cannot allocate memory|mmap failed/im, LARGE],
  [
    /is this a git repository\?$|does not appear to be a git repository|not valid: could not determine hash/m,
    NO_REPOSITORY,
  ],
  [
    /dumb http transport does not support/,
    'leads to a server that only serves files; use one that speaks the git protocol',
  ],
  [/mismatched algorithms/, 'names a repository with SHA-256 ids, which are not supported; use one with SHA-1 ids'],
];

/** `said` contains words of the server. They choose the sentence, and at most a short excerpt of them is quoted. */
export function fetchFailure(said: string): AppError {
  const own = said
    .split('\n')
    .filter((line) => !line.startsWith('remote:'))
    .join('\n');
  const known = REFUSALS.find(([pattern]) => pattern.test(own));
  if (known) return refusal('repoUrl', known[1]);
  const [reason = 'git gave no reason'] = own.match(/^(?:fatal|error): .*$/m) ?? [];
  const excerpt = reason.replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ').slice(0, MAX_EXCERPT_CHARACTERS);
  return unavailable(`the repository could not be fetched (${excerpt}); it is worth another try`);
}

/** For names chosen by strangers: spells hidden characters out. */
export function showName(name: string): string {
  const cut = name.length > MAX_EXCERPT_CHARACTERS ? `${name.slice(0, MAX_EXCERPT_CHARACTERS)}…` : name;
  return cut.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\ufffd]/gu, (hidden) => {
    return `\\u{${(hidden.codePointAt(0) ?? 0).toString(16)}}`;
  });
}
