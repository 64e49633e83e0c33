/** Where a skill can be fetched. */
export interface SkillAddress {
  /** As the API accepts it: https and an allowed host, or a local folder where the settings allow it. */
  repoUrl: string;
  skillName: string;
  /** The skill's folder inside the repository. Without it, the folder is found by the skill's name. */
  skillPath?: string | undefined;
  /** A branch or a tag. Never a commit, because a host serves the commits of every fork. Without it, the repository's
   *  default branch. */
  ref?: string | undefined;
}

export interface SkillFile {
  /** Relative to the skill's folder, with forward slashes. */
  path: string;
  bytes: Uint8Array;
  isExecutable: boolean;
}

/** A fetched skill: all that the scan, the judge and the registry see of it. */
export interface Skill {
  /** Sorted by path. */
  files: readonly SkillFile[];
  /** SHA-256 over the normalised files. The same content has the same hash, wherever it was fetched from. */
  contentHash: string;
  commit: string;
}

/** A refusal (a bad address, a symlink, too large, not found) is an `AppError` of kind `invalid` with a sentence for
 *  the owner. A server that is away or very slow is another error, and another try can help. */
export interface SkillSource {
  fetch(address: SkillAddress, signal: AbortSignal): Promise<Skill>;
}

/** Tells the commit that a branch or a tag has now, without fetching it. */
export interface SkillHeads {
  /** Null: no answer within seconds, or no such branch or tag. Never throws. */
  headOf(address: SkillAddress): Promise<string | null>;
}
