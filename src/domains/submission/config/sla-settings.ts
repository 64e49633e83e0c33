import type { z } from 'zod';
import { byName } from '../../../config/values.js';
import { BUCKET_BOUNDS_MS } from '../../../core/figures.js';
import { DEFAULT_SLA, SLA_NAMES, type SlaName, type SlaTargets } from '../core/sla.js';

/** A review that takes longer than a year is no promise. */
const MAX_DAYS = 365;

const BOUNDS_MS: readonly number[] = BUCKET_BOUNDS_MS;

/** The times that submissions are promised. The share of durations within a target is known for bounds of their buckets alone. */
export const slaVariables = {
  SUBMISSION_SLA: byName(
    SLA_NAMES,
    `the typical target and that of the 95th percentile, such as 15000-30000: for review 1 to ${MAX_DAYS} business days, for the others ms out of ${BOUNDS_MS.join(', ')}`,
    isPair,
  ).optional(),
};

function isPair(value: string, name: string): boolean {
  const [typical = '', p95 = '', ...more] = value.split('-');
  const isUnit = unitOf(name) === 'ms' ? isBound : isDays;
  return isUnit(typical) && isUnit(p95) && Number(typical) <= Number(p95) && more.length === 0;
}

function unitOf(name: string): 'ms' | 'business_days' {
  return DEFAULT_SLA[name as SlaName].unit;
}

function isBound(value: string): boolean {
  return /^\d+$/.test(value) && BOUNDS_MS.includes(Number(value));
}

function isDays(value: string): boolean {
  return /^\d{1,3}$/.test(value) && Number(value) >= 1 && Number(value) <= MAX_DAYS;
}

/** The promised times of the code. A promise that SUBMISSION_SLA names takes the place of the written one. */
export function slaOf({ SUBMISSION_SLA: set = {} }: z.output<z.ZodObject<typeof slaVariables>>): SlaTargets {
  const targets = SLA_NAMES.map((name) => {
    const [typical, p95] = set[name]?.split('-').map(Number) ?? [];
    return [name, { ...DEFAULT_SLA[name], ...(typical !== undefined && p95 !== undefined && { typical, p95 }) }];
  });
  return Object.fromEntries(targets) as SlaTargets;
}
