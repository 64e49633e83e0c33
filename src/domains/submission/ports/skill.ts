/** Where a skill is to be had. */
export interface SkillAddress {
  /** As accepted by the API: https and an allowed host (or a local folder, where the settings allow that). */
  repoUrl: string;
  skillName: string;
  /** Folder of the skill inside the repository; without it, found by the skill's name. */
  skillPath?: string | undefined;
  /** Branch or tag, never a commit: a host serves those of every fork. Without it, the repository's own branch. */
  ref?: string | undefined;
}

export interface SkillFile {
  /** Relative to the skill's folder, with forward slashes. */
  path: string;
  bytes: Uint8Array;
  isExecutable: boolean;
}

/** What was fetched: all that scans, judges and the registry see of a skill. */
export interface Skill {
  /** Sorted by path. */
  files: readonly SkillFile[];
  /** SHA-256 over the normalised files: the same content has the same hash, wherever it was fetched from. */
  contentHash: string;
  commit: string;
}

/** A refusal (a bad address, a symlink, too large, not found) is an `AppError` of kind `invalid` with a sentence for the owner; a
 *  server that is away or trickles is another error, and worth another try. */
export interface SkillSource {
  fetch(address: SkillAddress, signal: AbortSignal): Promise<Skill>;
}
