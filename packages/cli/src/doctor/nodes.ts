import { MAX_CLOCK_SKEW_MS } from "@svc-runtime/protocol";
import type { NodeListing } from "@svc-runtime/protocol/listings";
import type { Worker } from "@svc-runtime/sdk";
import { LIST_NODES, listNodes } from "../engine/listings.ts";
import type { Finding } from "./finding.ts";

/** Maximum number of entries of a log by which an engine may lag behind. */
const MAX_BEHIND = 1_000;

/** Returns the engines of the cluster. Returns none for an engine without a cluster. */
export async function clusterNodes(engine: Worker): Promise<readonly NodeListing[]> {
  // Check first whether the function exists, because a call of a missing function would count as an error of the
  // engine.
  const { functions } = await engine.call<{ readonly functions: readonly unknown[] }>({
    function_id: "engine::functions::list",
    payload: { prefix: LIST_NODES, include_internal: true, limit: 1 },
  });
  if (functions.length === 0) return [];
  const nodes = await listNodes(engine);
  const isAlone = nodes.every(({ report }) => report !== null && report.durability === null);
  return isAlone ? [] : nodes;
}

/** Returns the findings about one engine. */
export function findingsOf(node: NodeListing, all: readonly NodeListing[]): readonly Finding[] {
  const check = `node ${node.name}`;
  const { report, state, reason } = node;
  if (report === null)
    return [
      {
        check,
        status: state === "silent" ? "problem" : "warning",
        message: `${state}: ${reason ?? "no reason is known"}`,
        remedy: "Start its engine, or see the engine's log",
      },
    ];
  const found: Finding[] = [];
  if (state === "drained")
    found.push({
      check,
      status: "warning",
      message: "drained: no worker may connect to it",
      remedy: `Stop it, or take it back: svc nodes undrain ${node.name}`,
    });
  const warn = (message: string, remedy: string): void =>
    void found.push({ check, status: "warning", message, remedy });
  for (const { store, behind, problem } of report.stores) {
    if (problem !== null) found.push({ check, status: "problem", message: `store ${store}: ${problem}` });
    if (behind > MAX_BEHIND)
      warn(
        `its store ${store} is ${behind} entries behind`,
        "Wait, and see whether its machine is overloaded: svc nodes",
      );
  }
  if (report.durability === "relaxed")
    warn(
      `durability: relaxed; ${report.durability_reason ?? "no reason is known"}`,
      "Use the file of svc cluster nats-config for each NATS server, and start all of them",
    );
  if (Math.abs(report.clock_offset_ms) > MAX_CLOCK_SKEW_MS) {
    const seconds = (Math.abs(report.clock_offset_ms) / 1_000).toFixed(1);
    const direction = report.clock_offset_ms > 0 ? "ahead of" : "behind";
    warn(
      `its clock is ${seconds} s ${direction} that of the engine that was asked`,
      "Synchronise the clocks with NTP: timedatectl set-ntp true",
    );
  }
  const versions = new Set(all.flatMap((one) => one.report?.version ?? []));
  if (versions.size > 1)
    warn(`it has version ${report.version}, others have another`, "Finish the upgrade: one version for all engines");
  if (found.length > 0) return found;
  return [{ check, status: "ok", message: `${state} at ${report.addresses.bridge}` }];
}
