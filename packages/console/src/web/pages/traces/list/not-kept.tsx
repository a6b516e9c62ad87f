import { Link } from "@tanstack/react-router";
import { ApiFailure } from "../../../lib/api.ts";
import { EmptyState } from "../../../ui/data-region.tsx";

/** That spans are not kept is no failure: the page says which setting keeps them. */
export function isNotKept(error: Error | null): boolean {
  return error instanceof ApiFailure && (error.code === "memory_exporter_not_enabled" || error.code === "function_not_found");
}

/** Where spans are not kept. */
export function NotKept() {
  return (
    <EmptyState
      title="Traces are not kept"
      snippet={"workers:\n  - name: svc-observability\n    config:\n      exporter: memory   # or: both, and otlp for elsewhere"}
    >
      The module svc-observability only sends spans elsewhere. Set its <code>exporter</code> to <code>memory</code> or <code>both</code>. What is in effect is
      on the{" "}
      <Link to="/config" search={{ section: "otel" }} className="text-accent underline">
        Config page
      </Link>
      .
    </EmptyState>
  );
}
