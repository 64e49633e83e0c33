import { BlockList, isIP, isIPv4 } from 'node:net';

/** Private, reserved and shared networks (IANA special-purpose registry). A request to a stranger's address must not
 *  reach them. */
const NOT_PUBLIC_V4 = blockList('ipv4', [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10], // carrier-grade NAT
  ['127.0.0.0', 8],
  ['168.63.129.16', 32], // Azure's metadata, although the address is in a public range
  ['169.254.0.0', 16], // link-local, with the metadata of most clouds
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
]);

/** All routed addresses. Loopback, link-local, unique-local, IPv4-mapped and NAT64 addresses lie outside. */
const ROUTED_V6 = blockList('ipv6', [['2000::', 3]]);

/** Routed ranges without hosts, or whose addresses contain an IPv4 address (Teredo, 6to4). */
const NOT_PUBLIC_V6 = blockList('ipv6', [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
]);

/** Whether the address is on the public Internet. False for a text that is no address. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !NOT_PUBLIC_V4.check(address, 'ipv4');
  // A zone (%eth0) belongs to link-local addresses only.
  if (isIP(address) !== 6 || address.includes('%')) return false;
  return ROUTED_V6.check(address, 'ipv6') && !NOT_PUBLIC_V6.check(address, 'ipv6');
}

function blockList(family: 'ipv4' | 'ipv6', subnets: readonly (readonly [string, number])[]): BlockList {
  const list = new BlockList();
  for (const [network, prefix] of subnets) list.addSubnet(network, prefix, family);
  return list;
}
