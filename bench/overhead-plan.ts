import type { Kind } from './overhead-side.js';

/** Items of one batch, and items that are run one by one behind it. */
export const BATCH = 100;
export const ONE_AT_A_TIME = 9;

/** All there are: Temporal goes on tidying up after a batch while the next one runs. */
export const ORDERS: readonly (readonly Kind[])[] = [
  ['bare', 'ordinary', 'short'],
  ['short', 'ordinary', 'bare'],
  ['ordinary', 'short', 'bare'],
  ['bare', 'short', 'ordinary'],
  ['short', 'bare', 'ordinary'],
  ['ordinary', 'bare', 'short'],
];
