import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import type { Client } from '@temporalio/client';
import proto from '@temporalio/proto';

/** The one search attribute: which pipeline a run belongs to. */
export const PIPELINE_ATTRIBUTE = defineSearchAttributeKey('Pipeline', SearchAttributeType.KEYWORD);

/** gRPC's PERMISSION_DENIED and UNIMPLEMENTED: a hosted Temporal does not offer its operator service. */
const NOT_FOR_US = new Set<unknown>([7, 12]);

/** Adds the attribute if it is missing. False: this process may not look, or the attribute is missing and may not be
 *  added, so runs are started without it. */
export async function ensureSearchAttribute(client: Client): Promise<boolean> {
  try {
    return (await hasSearchAttribute(client)) || (await addSearchAttribute(client));
  } catch (error) {
    if (error instanceof Error && 'code' in error && NOT_FOR_US.has(error.code)) return false;
    throw error;
  }
}

async function addSearchAttribute(client: Client): Promise<boolean> {
  try {
    await client.connection.operatorService.addSearchAttributes({
      namespace: client.options.namespace,
      searchAttributes: {
        [PIPELINE_ATTRIBUTE.name]: proto.temporal.api.enums.v1.IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD,
      },
    });
    return true;
  } catch {
    // Another process may have added the attribute meanwhile. Without the right to add it, runs are started without it.
    return hasSearchAttribute(client);
  }
}

export async function hasSearchAttribute(client: Client): Promise<boolean> {
  const { customAttributes } = await client.connection.operatorService.listSearchAttributes({
    namespace: client.options.namespace,
  });
  return PIPELINE_ATTRIBUTE.name in (customAttributes ?? {});
}
