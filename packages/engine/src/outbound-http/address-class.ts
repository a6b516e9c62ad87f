import { BlockList, isIPv4, isIPv6 } from "node:net";

// Source: the IANA special-purpose address registries (RFC 6890 and its successors), and the multicast and reserved
// ranges.
const V4_SPECIAL: readonly (readonly [string, number, string])[] = [
  ["0.0.0.0", 8, "unspecified"],
  ["10.0.0.0", 8, "private"],
  ["100.64.0.0", 10, "carrier-grade NAT"],
  ["127.0.0.0", 8, "loopback"],
  ["169.254.0.0", 16, "link-local"],
  ["172.16.0.0", 12, "private"],
  ["192.0.0.0", 24, "protocol assignments"],
  ["192.0.2.0", 24, "documentation"],
  ["192.31.196.0", 24, "AS112"],
  ["192.52.193.0", 24, "AMT"],
  ["192.88.99.0", 24, "6to4 relay"],
  ["192.168.0.0", 16, "private"],
  ["192.175.48.0", 24, "AS112"],
  ["198.18.0.0", 15, "benchmarking"],
  ["198.51.100.0", 24, "documentation"],
  ["203.0.113.0", 24, "documentation"],
  ["224.0.0.0", 4, "multicast"],
  ["240.0.0.0", 4, "reserved"],
];

/**
 * Special ranges of IPv6. An address is public if it is in 2000::/3 and in none of these ranges. Ranges outside of
 * 2000::/3 are listed only because messages show their names.
 */
const V6_SPECIAL: readonly (readonly [string, number, string])[] = [
  ["::", 128, "unspecified"],
  ["::1", 128, "loopback"],
  ["64:ff9b:1::", 48, "local NAT64"],
  ["100::", 64, "discard"],
  ["2001::", 23, "protocol assignments"],
  ["2001:db8::", 32, "documentation"],
  ["2002::", 16, "6to4"],
  ["2620:4f:8000::", 48, "AS112"],
  ["3fff::", 20, "documentation"],
  ["5f00::", 16, "segment routing"],
  ["fc00::", 7, "unique local"],
  ["fe80::", 10, "link-local"],
  ["fec0::", 10, "site-local"],
  ["ff00::", 8, "multicast"],
];

const v4Special = V4_SPECIAL.map(([address, prefix, name]) => ({ name, list: listOf(address, prefix, "ipv4") }));
const v6Special = V6_SPECIAL.map(([address, prefix, name]) => ({ name, list: listOf(address, prefix, "ipv6") }));
const v6Global = listOf("2000::", 3, "ipv6");

function listOf(address: string, prefix: number, family: "ipv4" | "ipv6"): BlockList {
  const list = new BlockList();
  list.addSubnet(address, prefix, family);
  return list;
}

/**
 * Returns the reason why an address is not public, e.g. `loopback`; undefined if it is public. An IPv6 address that
 * contains an IPv4 address (mapped or NAT64) has the class of that address. A malformed address is not public.
 */
export function nonPublicClass(address: string): string | undefined {
  if (isIPv4(address)) return v4Special.find(({ list }) => list.check(address, "ipv4"))?.name;
  const plain = address.split("%", 1)[0] ?? "";
  if (!isIPv6(plain)) return "malformed";
  const groups = groupsOf(plain);
  const head = groups
    .slice(0, 6)
    .map((group) => group.toString(16))
    .join(":");
  if (head === "0:0:0:0:0:ffff" || head === "64:ff9b:0:0:0:0") return nonPublicClass(embeddedV4(groups));
  const special = v6Special.find(({ list }) => list.check(plain, "ipv6"));
  if (special !== undefined) return special.name;
  return v6Global.check(plain, "ipv6") ? undefined : "reserved";
}

/** Returns the eight groups of an IPv6 address in any notation. */
function groupsOf(address: string): number[] {
  // The URL parser normalizes every notation, including a dotted IPv4 tail.
  const [head = "", tail] = new URL(`http://[${address}]/`).hostname.slice(1, -1).split("::");
  const parse = (part: string): number[] =>
    part === "" ? [] : part.split(":").map((group) => Number.parseInt(group, 16));
  const before = parse(head);
  const after = parse(tail ?? "");
  return [...before, ...new Array<number>(8 - before.length - after.length).fill(0), ...after];
}

function embeddedV4(groups: readonly number[]): string {
  const [high = 0, low = 0] = groups.slice(6);
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}
