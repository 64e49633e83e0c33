import { z } from 'zod';
import type { Receipt } from '../../db/generated/client.js';

const Time = z.iso.datetime();

export const ReceiptAnswer = z
  .object({
    id: z.string(),
    itemId: z.uuid(),
    pipeline: z.string(),
    state: z.string(),
    visit: z.int(),
    epoch: z.int().describe('Of the run that goes on'),
    stage: z.string().nullable(),
    unit: z.string(),
    reason: z.string().describe('Why it did not move'),
    sentence: z.string(),
    lastSignAt: Time.describe('Its last sign of life'),
    seenAt: Time.describe('When it was seen not to move'),
    actedAt: Time,
    movingAt: Time.nullable().describe('When it moved again; null: not yet, or never'),
    stagesAgain: z.array(z.string()).describe('Stages that had begun before and were run again'),
    actor: z.string(),
    actorType: z.string(),
    result: z.string().describe('waiting, moving, exhausted, parked or poison'),
  })
  .meta({ id: 'Receipt', description: 'The record of one recovery' });
export type ReceiptAnswer = z.output<typeof ReceiptAnswer>;

export function receiptAnswer(receipt: Omit<Receipt, 'id'> & { id: bigint | number | string }): ReceiptAnswer {
  return {
    ...receipt,
    id: String(receipt.id),
    lastSignAt: receipt.lastSignAt.toISOString(),
    seenAt: receipt.seenAt.toISOString(),
    actedAt: receipt.actedAt.toISOString(),
    movingAt: receipt.movingAt?.toISOString() ?? null,
  };
}
