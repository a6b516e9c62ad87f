import { Link } from "@tanstack/react-router";
import { rich } from "../../../labels/rich.ts";
import { t } from "../../../labels/translate.ts";
import { ApiFailure } from "../../../lib/api.ts";
import { EmptyState } from "../../../ui/data-region.tsx";

/**
 * Returns true if the engine does not store spans. The page then shows the setting that enables storage instead of an
 * error.
 */
export function isNotStored(error: Error | null): boolean {
  return (
    error instanceof ApiFailure && (error.code === "memory_exporter_not_enabled" || error.code === "function_not_found")
  );
}

/** Explains how to store traces. */
export function TracesNotStored() {
  return (
    <EmptyState
      title={t`Traces are not stored`}
      snippet={
        "workers:\n  - name: svc-observability\n    config:\n      exporter: memory   # or both: stores and exports"
      }
    >
      {rich`The module svc-observability is off or only exports spans. Set its ${<code>exporter</code>} to ${<code>memory</code>} or ${<code>both</code>}. The`}{" "}
      <Link to="/config" search={{ section: "otel" }} className="text-accent underline">
        {t`Config page`}
      </Link>{" "}
      {t`shows the current setting.`}
    </EmptyState>
  );
}
