/** The newest version of a package. */
export interface FoundPackage {
  name: string;
  version: string;
  /** The repository as the package's author wrote it. Null: the package names none. */
  repository: string | null;
}

export interface PackagePage {
  packages: readonly FoundPackage[];
  /** Where the next page begins. Null: this is the last page. */
  next: number | null;
}

/** A registry of packages. Every call may fail with AppError `source_unavailable`; `facts.retryAfterMs` is the wait
 *  that the server asked for. A call ends soon after `signal` is aborted. */
export interface PackageIndex {
  search(keyword: string, from: number, signal: AbortSignal): Promise<PackagePage>;
  /** Downloads in the last month. Null: the registry does not know the package. */
  downloadsOf(name: string, signal: AbortSignal): Promise<number | null>;
}
