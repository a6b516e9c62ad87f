import type { ComponentHealth } from "../../../kernel/health-contract.ts";
import type { ExportState } from "./export-queue.ts";

/** A collector may be started anew meanwhile. */
const TOLERATED_MS = 30_000;

/** What exporters that fail for a while say of the component `otel`. The engine can do its work without a collector: never worse than degraded. */
export function exportHealth(states: readonly ExportState[]): ComponentHealth | undefined {
  const failing = states.filter(({ failing_for_ms }) => (failing_for_ms ?? 0) > TOLERATED_MS);
  if (failing.length === 0) return undefined;
  const reasons = failing.map(({ signal, last_error, failing_for_ms }) => `${signal} for ${Math.round((failing_for_ms ?? 0) / 1_000)} s (${last_error})`);
  return {
    status: "degraded",
    details: `not taken by the collector: ${reasons.join(", ")}; look at \`endpoint\` and \`protocol\` of svc-observability, and whether the collector runs`,
  };
}
