import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { ConnectionCaps } from "./connection-caps.ts";

const from = (remoteAddress: string | undefined): Socket =>
  Object.assign(new EventEmitter(), { remoteAddress }) as unknown as Socket;
const admitted = (caps: ConnectionCaps, address: string, count: number): number =>
  Array.from({ length: count }, () => caps.admit(from(address))).filter((isIn) => isIn).length;

describe("the cap on connections of one address (gap 58)", () => {
  it("is 1,000 for another machine; this machine's tools and workers share an address and have no cap of their own (W11)", () => {
    const caps = new ConnectionCaps(() => undefined);
    expect(admitted(caps, "10.1.2.3", 1_500)).toBe(1_000);
    expect(admitted(caps, "10.1.2.4", 10)).toBe(10);
    for (const address of ["127.0.0.1", "::1", "::ffff:127.0.0.1"]) expect(admitted(caps, address, 1_500)).toBe(1_500);
  });

  it("holds for every address when it is configured, and follows the config", () => {
    let limit = 2;
    const caps = new ConnectionCaps(() => limit);
    expect(admitted(caps, "127.0.0.1", 5)).toBe(2);
    limit = 4;
    expect(admitted(caps, "127.0.0.1", 5)).toBe(2);
  });

  it("gives room again when a connection goes, once for each", () => {
    const caps = new ConnectionCaps(() => 1);
    const first = from("10.1.2.3");
    expect(caps.admit(first)).toBe(true);
    expect(caps.admit(from("10.1.2.3"))).toBe(false);
    first.emit("close");
    expect(admitted(caps, "10.1.2.3", 2)).toBe(1);
  });
});
