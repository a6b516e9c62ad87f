import { describe, expect, it } from "vitest";
import type { PeerView } from "../kernel/nodes/nodes.ts";
import { type ClusterFacts, clusterHealth } from "./cluster-health.ts";

function peer(name: string, startedAtMs = 1, clockOffsetMs = 0): PeerView {
  return {
    run: `run of ${name} at ${startedAtMs}`,
    node: name,
    name,
    state: "up",
    load: 0,
    startedAtMs,
    clockOffsetMs,
  };
}

const healthOf = (facts: Partial<ClusterFacts>, replicas = 3): string => {
  const { status, details } = clusterHealth({
    settings: { name: "shop", node: "a", snapshotAfter: 2 ** 30, nats: { servers: ["nats://n1"], replicas } },
    self: { run: "self", startedAtMs: 10 },
    peers: [peer("b")],
    downForMs: 0,
    durability: { durability: "durable", servers: 3 },
    copies: new Map([["queue", 3]]),
    ...facts,
  });
  return `${status}: ${details}`;
};

describe("the health of a cluster", () => {
  it("names the other engines", () => {
    expect(healthOf({})).toBe("healthy: a of cluster shop, with b; durability: durable");
    expect(healthOf({ peers: [] })).toContain("no other engine is there");
  });

  it("is unhealthy after 5 s without a server", () => {
    expect(healthOf({ downForMs: 4_999 })).toContain("degraded: no NATS server can be reached");
    expect(healthOf({ downForMs: 5_000 })).toContain("unhealthy: no NATS server can be reached");
  });

  it("is degraded if the clock is apart from those of most others", () => {
    const withClocks = (...offsets: readonly number[]): string =>
      healthOf({ peers: offsets.map((offsetMs, at) => peer("bcd"[at] ?? "", 1, offsetMs)) });
    expect(withClocks(10_040, 9_990)).toBe("degraded: clock: 10.0 s behind that of b, c; synchronize the clocks (NTP)");
    expect(withClocks(-1_500)).toContain("degraded: clock: 1.5 s ahead of that of b");
    for (const offsets of [[10_000, 0], [900, -900], []]) expect(withClocks(...offsets)).toContain("healthy: ");
  });

  it.each([
    [
      "fewer than there are servers",
      1,
      {
        copies: new Map([
          ["queue", 1],
          ["state", 3],
        ]),
      },
      "queue (1), of 3;",
    ],
    ["fewer than configured", 5, {}, "queue (3), of 5;"],
  ] as const)("is degraded if a log has fewer copies: %s", (_, replicas, facts, expected) => {
    expect(healthOf(facts, replicas)).toMatch(/^degraded: not enough NATS servers keep these logs: /);
    expect(healthOf(facts, replicas)).toContain(expected);
  });

  it("is not degraded by one copy on one server, or by three copies on five", () => {
    const one: Partial<ClusterFacts> = {
      durability: { durability: "durable", servers: 1 },
      copies: new Map([["queue", 1]]),
    };
    expect(healthOf(one, 1)).toContain("healthy: ");
    expect(healthOf(one, 1)).not.toContain("unhealthy");
    expect(healthOf({ durability: { durability: "durable", servers: 5 } })).toMatch(/^healthy/);
  });

  it("shows each reason", () => {
    const durability = { durability: "relaxed", reason: "a test", servers: 3 } as const;
    expect(healthOf({ durability, copies: new Map([["queue", 1]]) })).toMatch(
      /^degraded: durability: relaxed; a test; not enough NATS servers keep these logs: queue \(1\)/,
    );
  });

  it("is unhealthy only at the later of two engines with one name", () => {
    expect(healthOf({ peers: [peer("a", 9)] })).toMatch(/^unhealthy: another engine of the cluster is called a, too/);
    expect(healthOf({ peers: [peer("a", 11)] })).toMatch(/^degraded: another engine of the cluster is called a, too/);
    expect(healthOf({ peers: [peer("a", 11), peer("a", 9)] })).toMatch(/^unhealthy/);
    const twin = { ...peer("a", 10), run: "other" };
    expect(healthOf({ peers: [twin] })).toMatch(/^unhealthy/);
    expect(healthOf({ peers: [{ ...twin, run: "twin" }] })).toMatch(/^degraded/);
  });
});
