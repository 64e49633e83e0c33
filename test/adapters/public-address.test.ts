import { describe, expect, it } from 'vitest';
import { isPublicAddress } from '../../src/adapters/public-address.js';

describe('a public address', () => {
  it.each(['1.1.1.1', '93.184.216.34', '172.15.255.255', '172.32.0.1', '100.63.255.255', '100.128.0.1', '192.167.1.1'])(
    'is %s',
    (address) => {
      expect(isPublicAddress(address)).toBe(true);
    },
  );
  it.each(['2606:4700:4700::1111', '2a00:1450:4001:81b::200e', '2001:4860:4860::8888'])('is %s', (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  it.each([
    ['this host', '0.0.0.0'],
    ['private', '10.1.2.3'],
    ['private', '172.16.0.1'],
    ['private', '172.31.255.255'],
    ['private', '192.168.1.1'],
    ['carrier-grade NAT', '100.64.0.1'],
    ['the metadata of Alibaba', '100.100.100.200'],
    ['loopback', '127.0.0.1'],
    ['loopback', '127.255.255.254'],
    ['the metadata of AWS, Google, Azure', '169.254.169.254'],
    ['what Azure tells its machines', '168.63.129.16'],
    ['the metadata of Oracle', '192.0.0.192'],
    ['benchmarks', '198.18.0.1'],
    ['multicast', '224.0.0.1'],
    ['broadcast', '255.255.255.255'],
    ['unspecified', '::'],
    ['loopback', '::1'],
    ['link-local', 'fe80::1'],
    ['link-local with a zone', 'fe80::1%lo'],
    ['unique-local', 'fd12:3456:789a::1'],
    ['the metadata of AWS', 'fd00:ec2::254'],
    ['IPv4-mapped', '::ffff:127.0.0.1'],
    ['IPv4-mapped', '::ffff:a00:1'],
    ['IPv4-compatible', '::127.0.0.1'],
    ['NAT64', '64:ff9b::7f00:1'],
    ['6to4', '2002:7f00:1::'],
    ['Teredo', '2001:0:1::1'],
    ['documentation', '2001:db8::1'],
    ['multicast', 'ff02::1'],
    ['a name', 'localhost'],
    ['nothing', ''],
  ])('is not one of %s: %s', (_, address) => {
    expect(isPublicAddress(address)).toBe(false);
  });
});
