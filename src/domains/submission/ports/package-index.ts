/** One version of a package, the newest. */
export interface FoundPackage {
  name: string;
  version: string;
  /** As its maker wrote it; null: nothing was written. */
  repository: string | null;
}

export interface PackagePage {
  packages: readonly FoundPackage[];
  /** Where the next page begins; null: this is the last. */
  next: number | null;
}

/** A registry of packages. Every call may fail with AppError `source_unavailable`; `facts.retryAfterMs` is when the server asked
 *  to be asked again. Ends soon after `signal` is aborted. */
export interface PackageIndex {
  search(keyword: string, from: number, signal: AbortSignal): Promise<PackagePage>;
  /** Of the last month; null: it does not know the package. */
  downloadsOf(name: string, signal: AbortSignal): Promise<number | null>;
}
