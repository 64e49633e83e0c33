import { createStatusTokens } from './status-token.js';

export interface StatusLinks {
  /** The link under which anybody who has it can read the item's status. Null: there is no secret to sign it with. */
  statusUrlOf(itemId: string): string | null;
  itemIn(token: string): string | null;
}

export interface LinkSettings {
  /** Without a secret there are no links. An installation has none if another service's keys sign its tokens. */
  secret: string | undefined;
  /** The address under which people reach the API. Without it, links are paths. */
  publicUrl: string | undefined;
}

export interface LinkKind {
  /** The purpose of a token of this kind. A token is of no use for another purpose. */
  purpose: string;
  /** The route that takes the token behind it. */
  path: string;
}

export function createStatusLinks({ secret, publicUrl = '' }: LinkSettings, { purpose, path }: LinkKind): StatusLinks {
  if (secret === undefined) return { statusUrlOf: () => null, itemIn: () => null };
  const { tokenOf, itemIn } = createStatusTokens(secret, purpose);
  const base = publicUrl.replace(/\/+$/, '');
  return { itemIn, statusUrlOf: (itemId) => `${base}${path}/${tokenOf(itemId)}` };
}
