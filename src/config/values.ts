import { readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { z } from 'zod';
import { isMailAddress } from '../core/mail-address.js';
import { isSpan, msOf, type Span } from '../core/span.js';
import type { When } from '../core/schedules.js';
import { SHORTEST_BEATS } from '../core/step.js';

export function text(expected: string, test: (value: string) => boolean) {
  return z.string().refine(test, { error: expected });
}

export function whole(min: number, max: number, expected = `a whole number from ${min} to ${max}`) {
  return text(expected, (value) => /^\d+$/.test(value) && Number(value) >= min && Number(value) <= max).transform(
    Number,
  );
}

export function port() {
  return whole(1, 65_535, 'a port from 1 to 65535');
}

export function url(expected: string, ...protocols: string[]) {
  return text(expected, (value) => URL.canParse(value) && protocols.includes(new URL(value).protocol));
}

export function oneOf<const Value extends string>(...values: Value[]) {
  return z.enum(values, { error: `one of ${values.join(', ')}` });
}

export const postgresUrl = url(
  'a URL such as postgresql://user:password@host:5432/database',
  'postgres:',
  'postgresql:',
);

export const webUrl = url('a URL that starts with https:// or http://', 'https:', 'http:');

/** A secret that the Standard Webhooks libraries take: 24 to 64 bytes, as the standard asks for. */
export const webhookSecret = text('whsec_ and the base64 of 24 to 64 random bytes', (value) => {
  const encoded = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(value)?.[1] ?? '';
  const bytes = Buffer.from(encoded, 'base64');
  return bytes.toString('base64') === encoded && bytes.length >= 24 && bytes.length <= 64;
});

/** Names with commas between them. */
export function list(expected: string, isEntry: (entry: string) => boolean) {
  const entriesOf = (value: string): string[] => value.split(',').map((entry) => entry.trim());
  return text(expected, (value) => entriesOf(value).every(isEntry)).transform(entriesOf);
}

/** Values for some of these names, such as fetch=2,scan=4. */
export function byName(names: readonly string[], expected: string, isValue: (value: string, name: string) => boolean) {
  const pairsOf = (value: string): string[][] => value.split(',').map((entry) => entry.trim().split('='));
  const message = `name=value with commas between them; each name is one of ${names.join(', ')}, each value ${expected}`;
  return text(message, (value) =>
    pairsOf(value).every(
      ([name = '', each = '', ...more]) => names.includes(name) && isValue(each, name) && more.length === 0,
    ),
  ).transform((value): Partial<Record<string, string>> => Object.fromEntries(pairsOf(value) as [string, string][]));
}

export const mailAddresses = list('mail addresses with commas between them, such as ops@example.com', isMailAddress);

/** How many proxies stand in front of the API, or their addresses. A caller that is no trusted proxy can't name another address. */
export const trustedProxies = text(
  'a number of proxies such as 1, or addresses and networks with commas between them, such as 10.0.0.0/8',
  (value) => isHops(value) || value.split(',').every((entry) => isNetwork(entry.trim())),
).transform((value) => (isHops(value) ? Number(value) : value.split(',').map((entry) => entry.trim())));

function isHops(value: string): boolean {
  return /^[1-9]$/.test(value);
}

function isNetwork(entry: string): boolean {
  const [address = '', prefix, ...more] = entry.split('/');
  const version = isIP(address);
  if (version === 0 || more.length > 0) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (version === 4 ? 32 : 128));
}

/** A chain of certificates is a few kilobytes. */
const MAX_PEM_BYTES = 1_000_000;

/** The path of a PEM file that holds a block with this label. */
export function pemFile(label: 'CERTIFICATE' | 'PRIVATE KEY') {
  const what = label === 'CERTIFICATE' ? 'certificate' : 'private key without a password';
  return text(`the path of a readable PEM file with a ${what}`, (value) => isPem(value, label)).transform((value) =>
    resolve(value),
  );
}

function isPem(path: string, label: string): boolean {
  try {
    const { size } = statSync(path);
    return (
      size <= MAX_PEM_BYTES &&
      new RegExp(`^-----BEGIN (?!ENCRYPTED)(\\w+ )?${label}-----`, 'm').test(readFileSync(path, 'utf8'))
    );
  } catch {
    return false; // the message names the variable and asks for a readable file
  }
}

export const spanText = text('a span of time such as 15s or 3m', isSpan).transform((value) => value as Span);

/** A process that has loaded its code takes some 150 MB, so its stage has at least 100 MB. */
const LEAST_MEMORY_BYTES = 256 * 1_024 ** 2;

/** An amount of memory, in bytes. */
export const memoryText = text(
  'an amount of memory of at least 256MB, such as 512MB or 2GB',
  (value) => bytesOf(value) >= LEAST_MEMORY_BYTES,
).transform(bytesOf);

function bytesOf(amount: string): number {
  const [, digits = '0', unit] = /^([1-9]\d{0,5})(MB|GB)$/.exec(amount) ?? [];
  return Number(digits) * 1_024 ** (unit === 'GB' ? 3 : 2);
}

/** Below ten seconds, Temporal would drop runs that are late by a moment. */
export const intervalText = text(
  'a span of time of at least 10s such as 5m or 1h',
  (value) => isSpan(value) && msOf(value) >= 10_000,
).transform((value) => value as Span);

/** An hour at least, because a shorter span would delete rows that are still being added to. */
export const keptText = text(
  'a span of time of at least an hour such as 48h or 30d',
  (value) => isSpan(value) && msOf(value) >= 3_600_000,
).transform((value) => value as Span);

export const beatsText = text(
  `a span of time of at least ${SHORTEST_BEATS}, or nothing for what the table says, because a frozen worker keeps its locks for 1.5 s`,
  (value) => isSpan(value) && msOf(value) >= msOf(SHORTEST_BEATS),
).transform((value) => value as Span);

export const spansText = text('spans of time with commas between them, such as 3m,10m,30m', (value) =>
  value.split(',').every((part) => isSpan(part.trim())),
).transform((value) => value.split(',').map((part) => part.trim() as Span));

const CRON_SHAPES = '*/N * * * * (every N minutes), 0 * * * *, 0 */N * * * (every N hours), M H * * * (daily, UTC)';

/** A schedule as a cron text. Only the shapes that our schedules have are taken. */
export const cronText = text(
  `a cron text of one of the shapes ${CRON_SHAPES}`,
  (value) => whenOf(value) !== null,
).transform((value) => whenOf(value) ?? ({ every: '1h' } as const));

function whenOf(value: string): When | null {
  const [minute = '', hour = '', ...rest] = value.trim().split(/\s+/);
  if (rest.join(' ') !== '* * *') return null;
  const [everyMinutes, everyHours] = [minute, hour].map((field) => /^\*\/([1-9]\d?)$/.exec(field)?.[1]);
  if (everyMinutes !== undefined && hour === '*')
    return Number(everyMinutes) < 60 ? { every: `${Number(everyMinutes)}m` } : null;
  if (minute === '0' && hour === '*') return { every: '1h' };
  if (minute === '0' && everyHours !== undefined)
    return Number(everyHours) < 24 ? { every: `${Number(everyHours)}h` } : null;
  if (!/^\d{1,2}$/.test(minute) || !/^\d{1,2}$/.test(hour) || Number(minute) > 59 || Number(hour) > 23) return null;
  return { dailyAt: `${hour.padStart(2, '0')}:${minute.padStart(2, '0')}` };
}
