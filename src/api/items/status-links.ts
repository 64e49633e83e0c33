import { createStatusTokens } from './status-token.js';

export interface StatusLinks {
  /** Where anybody who is given it may read how a submission is doing; null where nothing can sign it. */
  statusUrlOf(itemId: string): string | null;
  itemIn(token: string): string | null;
}

export interface LinkSettings {
  /** Without one (tokens are checked by somebody else's keys) there are no links. */
  secret: string | undefined;
  /** Where people reach the API; without it, links are paths. */
  publicUrl: string | undefined;
}

export function createStatusLinks({ secret, publicUrl = '' }: LinkSettings): StatusLinks {
  if (secret === undefined) return { statusUrlOf: () => null, itemIn: () => null };
  const { tokenOf, itemIn } = createStatusTokens(secret);
  const base = publicUrl.replace(/\/+$/, '');
  return { itemIn, statusUrlOf: (itemId) => `${base}/api/v1/status/${tokenOf(itemId)}` };
}
