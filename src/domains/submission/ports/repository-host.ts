export interface RepositoryFacts {
  stars: number;
  /** The last time that something was pushed. */
  lastCommitAt: Date | null;
}

/** Where repositories are. Fails as a package index does. */
export interface RepositoryHost {
  /** The address under which it serves the repository that somebody wrote down in one of many ways; null: it is not its. */
  addressOf(written: string): string | null;
  /** Folders with a SKILL.md, '' for the root; null: there is no such repository. */
  listSkillFolders(repoUrl: string, signal: AbortSignal): Promise<readonly string[] | null>;
  findFacts(repoUrl: string, signal: AbortSignal): Promise<RepositoryFacts | null>;
}
