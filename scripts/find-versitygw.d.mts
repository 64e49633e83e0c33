type Environment = Record<string, string | undefined>;

export const VERSITYGW_VERSION: string;
export function cachedVersitygw(env?: Environment): string;
export function locateVersitygw(env?: Environment): string | undefined;
