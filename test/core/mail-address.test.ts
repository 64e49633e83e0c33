import { describe, expect, it } from 'vitest';
import { isMailAddress } from '../../src/core/mail-address.js';

describe('a mail address', () => {
  it.each([
    'a@b.c',
    'first.last+tag@sub.example.co.uk',
    "o'neil@example.com",
    'root@localhost',
    'x@xn--bcher-kva.example',
  ])('is %s', (text) => {
    expect(isMailAddress(text)).toBe(true);
  });

  it.each([
    '',
    'alice',
    '@example.com',
    'alice@',
    'a@b@c',
    'a b@example.com',
    'a@example.com, b@example.com',
    'Alice <alice@example.com>',
    '<alice@example.com>',
    '"a"@example.com',
    'a@example.com\r\nBcc: b@example.com',
    'a@example.com\n',
    'a@[127.0.0.1]',
    'a@-example-',
    `a@${'b'.repeat(300)}.com`,
    `${'a'.repeat(65)}@example.com`,
    'a;b@example.com',
    'a@exa\u0000mple.com',
  ])('is not %j', (text) => {
    expect(isMailAddress(text)).toBe(false);
  });
});
