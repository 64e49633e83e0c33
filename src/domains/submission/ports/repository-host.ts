export interface RepositoryFacts {
  stars: number;
  /** The time of the last push. */
  lastCommitAt: Date | null;
}

/** A server of repositories. Its calls fail as those of a package index do. */
export interface RepositoryHost {
  /** The address at which this host serves a repository. `written` names the repository in any of the forms that
   *  authors use. Null: the repository is not on this host. */
  addressOf(written: string): string | null;
  /** Folders with a SKILL.md; '' is the root. Null: the repository does not exist. */
  listSkillFolders(repoUrl: string, signal: AbortSignal): Promise<readonly string[] | null>;
  findFacts(repoUrl: string, signal: AbortSignal): Promise<RepositoryFacts | null>;
}
