type Environment = Record<string, string | undefined>;

export const TEMPORAL_VERSION: string;
export function cachedTemporalCli(env?: Environment): string;
export function locateTemporalCli(env?: Environment): string | undefined;
export function findTemporalCli(env?: Environment): string;
