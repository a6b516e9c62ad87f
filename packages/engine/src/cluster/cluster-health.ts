import { MAX_CLOCK_SKEW_MS } from "@svc-runtime/protocol";
import type { ClusterSettings } from "../config/blocks/cluster-block.ts";
import type { ComponentHealth } from "../kernel/health-contract.ts";
import { compareClocks } from "../kernel/nodes/clock-check.ts";
import type { PeerView } from "../kernel/nodes/nodes.ts";
import type { LogDurability } from "./nats/check-server.ts";

/** The engine is not ready after this time without a server, in milliseconds. */
export const DOWN_MS = 5_000;
/** Number of servers that should keep each log. If there are fewer servers, all of them should. */
const COPIES = 3;

export interface ClusterFacts {
  readonly settings: ClusterSettings;
  /** This engine's run. */
  readonly self: Pick<PeerView, "run" | "startedAtMs">;
  readonly peers: readonly PeerView[];
  /** How long there has been no server, in milliseconds; 0 while there is one. */
  readonly downForMs: number;
  readonly durability: LogDurability;
  /** Number of servers that keep a log, by the name of its store. */
  readonly copies: ReadonlyMap<string, number>;
}

export function clusterHealth(facts: ClusterFacts): ComponentHealth {
  const { settings, downForMs, durability } = facts;
  if (downForMs > 0) {
    const servers = settings.nats.servers.join(", ");
    const details = `no NATS server can be reached (${servers}): nothing that the engines share can be written`;
    return { status: downForMs < DOWN_MS ? "degraded" : "unhealthy", details };
  }
  const problem = nameProblem(facts);
  if (problem !== undefined) return problem;
  const degraded = [
    ...(durability.durability === "relaxed" ? [`durability: relaxed; ${durability.reason}`] : []),
    ...copiesProblem(facts),
    ...clockProblem(facts),
  ];
  if (degraded.length > 0) return { status: "degraded", details: degraded.join("; ") };
  const peers = facts.peers.map(({ name }) => name).sort();
  const others = peers.length === 0 ? "no other engine is there" : `with ${peers.join(", ")}`;
  return {
    status: "healthy",
    details: `${settings.node} of cluster ${settings.name}, ${others}; durability: durable`,
  };
}

/** Returns the message that another engine of the cluster also has the name `node`. */
export function twinProblem(node: string, twin: PeerView): string {
  return `another engine of the cluster is called ${node}, too (run ${twin.run}): give each a name of its own with engine.cluster.node`;
}

/**
 * If two engines have the same name, the one that started later is unhealthy, because it must not replace the earlier
 * one.
 */
function nameProblem({ settings: { node }, self, peers }: ClusterFacts): ComponentHealth | undefined {
  const twins = peers.filter(({ name }) => name === node);
  const earlier = twins.find(
    ({ startedAtMs, run }) => startedAtMs < self.startedAtMs || (startedAtMs === self.startedAtMs && run < self.run),
  );
  if (earlier !== undefined) return { status: "unhealthy", details: twinProblem(node, earlier) };
  const [later] = twins;
  return later && { status: "degraded", details: twinProblem(node, later) };
}

/**
 * Reports a problem unless more than half of the clocks agree with this one. Then this clock is wrong, or nobody knows
 * which one is right.
 */
function clockProblem({ peers }: ClusterFacts): readonly string[] {
  const apart = peers.filter(({ clockOffsetMs }) => Math.abs(clockOffsetMs) > MAX_CLOCK_SKEW_MS);
  const [first] = apart;
  if (first === undefined || compareClocks(peers.map(({ clockOffsetMs }) => clockOffsetMs)) === "right") return [];
  const seconds = (Math.abs(first.clockOffsetMs) / 1_000).toFixed(1);
  const names = apart.map(({ name }) => name).sort();
  return [
    `clock: ${seconds} s ${first.clockOffsetMs > 0 ? "behind" : "ahead of"} that of ${names.join(", ")}; synchronize the clocks (NTP)`,
  ];
}

function copiesProblem({ settings, durability, copies }: ClusterFacts): readonly string[] {
  const wanted = Math.max(settings.nats.replicas, Math.min(COPIES, durability.servers));
  const few = [...copies].filter(([, count]) => count < wanted).sort();
  if (few.length === 0) return [];
  const logs = few.map(([log, count]) => `${log} (${count})`).join(", ");
  return [
    `not enough NATS servers keep these logs: ${logs}, of ${wanted}; list all servers in engine.cluster.nats.servers or set replicas there to ${wanted}, start all servers, then start the engine again`,
  ];
}
