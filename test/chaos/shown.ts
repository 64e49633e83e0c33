import type { Audited } from '../audit/audit.js';
import { createClient } from '../audit/client.js';
import type { Facts, ItemFact } from '../audit/facts.js';
import { inLanes } from '../audit/ledger.js';
import type { RecoveryFacts } from '../audit/recovery-facts.js';

/** What the API shows otherwise than the database has it: every ended item's state and version, and how many receipts there are. */
export async function differencesToApi(
  { installation, client }: Pick<Audited, 'installation' | 'client'>,
  { items }: Facts,
  { receipts }: RecoveryFacts,
): Promise<string[]> {
  const differences: string[] = [];
  async function compare({ id, state, version }: ItemFact): Promise<void> {
    const shown = await client.look(`/api/v1/items/${id}`);
    if (shown?.['state'] === state && shown['version'] === version) return;
    differences.push(`${id} is shown in ${String(shown?.['state'])}, and is in ${state}`);
  }
  await inLanes(
    items.filter(({ endedAt }) => endedAt !== null),
    compare,
  );
  const admin = createClient(
    installation.url,
    await installation.token('auditor', ['admin']),
    new AbortController().signal,
  );
  const summary = await admin.look('/api/v1/receipts/summary');
  const count = (summary?.['all'] as { count?: number } | undefined)?.count;
  if (count !== receipts.length) {
    differences.push(`${String(count)} receipts are shown, and there are ${String(receipts.length)}`);
  }
  return differences;
}
