import { describe, expect, it } from "vitest";
import { nonPublicClass } from "./address-class.ts";

describe("the class of an address", () => {
  it.each([
    ["0.0.0.0", "unspecified"],
    ["10.1.2.3", "private"],
    ["100.64.0.1", "carrier-grade NAT"],
    ["100.127.255.255", "carrier-grade NAT"],
    ["127.0.0.1", "loopback"],
    ["127.255.255.254", "loopback"],
    ["169.254.169.254", "link-local"],
    ["172.16.0.1", "private"],
    ["172.31.255.255", "private"],
    ["192.0.0.1", "protocol assignments"],
    ["192.0.2.1", "documentation"],
    ["192.168.1.1", "private"],
    ["198.18.0.1", "benchmarking"],
    ["198.51.100.1", "documentation"],
    ["203.0.113.1", "documentation"],
    ["224.0.0.1", "multicast"],
    ["255.255.255.255", "reserved"],
    ["::", "unspecified"],
    ["::1", "loopback"],
    ["0:0:0:0:0:0:0:1", "loopback"],
    ["::ffff:127.0.0.1", "loopback"],
    ["::ffff:7f00:1", "loopback"],
    ["::FFFF:169.254.169.254", "link-local"],
    ["64:ff9b::10.0.0.1", "private"],
    ["64:ff9b::a9fe:a9fe", "link-local"],
    ["64:ff9b::", "unspecified"],
    ["64:ff9b:1::1", "local NAT64"],
    ["::127.0.0.1", "reserved"],
    ["2001::1", "protocol assignments"],
    ["2001:db8::1", "documentation"],
    ["2002:7f00:1::", "6to4"],
    ["3fff::1", "documentation"],
    ["fc00::1", "unique local"],
    ["fd12:3456::1", "unique local"],
    ["fe80::1", "link-local"],
    ["fe80::1%eth0", "link-local"],
    ["fec0::1", "site-local"],
    ["ff02::1", "multicast"],
    ["4000::1", "reserved"],
    ["", "malformed"],
    ["localhost", "malformed"],
  ])("of %s is %s (K12)", (address, expected) => {
    expect(nonPublicClass(address)).toBe(expected);
  });

  it.each([
    "1.1.1.1",
    "93.184.216.34",
    "100.63.255.255",
    "172.32.0.1",
    "2606:4700::1111",
    "2a00:1450:4001::5",
    "::ffff:1.1.1.1",
    "64:ff9b::101:101",
  ])("of %s is public", (address) => {
    expect(nonPublicClass(address)).toBeUndefined();
  });
});
