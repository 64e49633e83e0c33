import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, realpathSync, rmSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach } from 'vitest';
import {
  createGitSkillSource,
  type GitSkillSourceOptions,
} from '../../../../../src/domains/submission/adapters/git/skill-source-git.js';
import { isRetryable } from '../../../../../src/core/errors.js';
import type { Skill, SkillAddress } from '../../../../../src/domains/submission/ports/skill.js';
import { type GitServer, startGitServer } from './git-server.js';
import { type HandMade, handMadeRepository, skillFile } from './repository.js';

/** A git server on this machine, repositories to serve, and a source to fetch them with. */
export interface Workshop {
  server: GitServer;
  /** The folder into which the source fetches. */
  scratch: string;
  repository(name: string, settings?: readonly string[]): HandMade;
  fetch(repository: string, given?: Partial<SkillAddress>, options?: Partial<GitSkillSourceOptions>): Promise<Skill>;
  /** The error of a fetch that must fail. */
  refused(
    repository: string,
    given?: Partial<SkillAddress>,
    options?: Partial<GitSkillSourceOptions>,
  ): Promise<Failure>;
}

export interface Failure {
  message: string;
  code: string;
  kind: string;
  errorClass: string;
  field: string | undefined;
  isRetryable: boolean;
}

/** Never aborted within a test. */
const PATIENT = new AbortController().signal;

/** For the tests of one file. Each starts with a server that behaves and a repository, `good`, and must leave
 *  nothing behind. */
export async function openWorkshop(): Promise<Workshop> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'skill-source-')));
  const served = join(root, 'served');
  const scratch = join(root, 'scratch');
  mkdirSync(scratch);
  const server = await startGitServer(served);
  const rules = { hosts: ['github.com', '127.0.0.1'], allowPrivate: true, allowLocal: false };

  function fetch(
    repository: string,
    given: Partial<SkillAddress> = {},
    options: Partial<GitSkillSourceOptions> = {},
  ): Promise<Skill> {
    const source = createGitSkillSource({ ...rules, temporaryFolder: scratch, ...options });
    const repoUrl = `${server.url}acme/${repository}.git`;
    return source.fetch({ repoUrl, skillName: 'greet', ...given }, PATIENT);
  }

  function repository(name: string, settings?: readonly string[]): HandMade {
    return handMadeRepository(join(served, 'acme', `${name}.git`), settings);
  }
  const good = repository('good');
  good.commit(good.folderOf({ 'greet/SKILL.md': skillFile('greet') }));
  beforeEach(() => {
    server.answer(undefined);
  });
  afterEach(() => {
    assertNothingLeft(scratch);
  });
  afterAll(async () => {
    await server.close();
    rmSync(root, { recursive: true });
  });

  return {
    server,
    scratch,
    repository,
    fetch,
    async refused(...given) {
      const error: unknown = await fetch(...given).then(
        (skill) => {
          throw new Error(`fetched ${skill.files.length} files, and should not have`);
        },
        (failure: unknown) => failure,
      );
      return failureOf(error);
    },
  };
}

function assertNothingLeft(scratch: string): void {
  const processes = processesIn(scratch);
  const files = readdirSync(scratch);
  if (processes.length + files.length === 0) return;
  throw new Error(`left behind: processes ${processes.join()}, files ${files.join()}`);
}

export function failureOf(error: unknown): Failure {
  const { message, code, kind, errorClass, errors } = error as Failure & { errors?: { path: string }[] };
  return { message, code, kind, errorClass, field: errors?.[0]?.path, isRetryable: isRetryable(error) };
}

/** Process ids of all that works for a fetch, git's own children too: they share the home it was given. */
export function processesIn(scratch: string): number[] {
  const all = execFileSync('ps', ['axeww', '-o', 'pid,args'], { encoding: 'utf8', maxBuffer: 64_000_000 }).split('\n');
  return all.filter((line) => line.includes(`HOME=${scratch}`)).map((line) => Number.parseInt(line, 10));
}
