import type { ModuleContext } from "@svc-runtime/engine/module";
import { CallError } from "@svc-runtime/protocol";
import type { DropCounter } from "../../telemetry-records.ts";
import type { SpanReader, SpanStore } from "../span-store.ts";
import { spansFor } from "../visible-spans.ts";
import { provideListFunctions } from "./list-traces.ts";
import { provideReadFunctions } from "./read-traces.ts";
import type { TraceFunctions } from "./trace-functions.ts";
import { provideTransferFunctions } from "./transfer-traces.ts";

/**
 * Provides `engine::traces::*`. Without a `store`, each function throws `memory_exporter_not_enabled`. For callers
 * without restrictions, `read` returns a reader of the spans. In a cluster, it reads the spans of all nodes.
 */
export function provideTraces(
  context: ModuleContext<unknown>,
  { store, read }: { readonly store: SpanStore | undefined; readonly read: (store: SpanStore) => SpanReader },
  drops: DropCounter,
): void {
  const functions: TraceFunctions = {
    store() {
      if (store !== undefined) return store;
      throw new CallError(
        "memory_exporter_not_enabled",
        "In-memory span storage is not available. Set exporter: memory or both in config, in the block svc-observability, e.g. `exporter: both`",
      );
    },
    // Restricted readers get only the spans of this engine. The reason is that all spans of a trace decide whether they
    // may see one of its spans, and other engines of the cluster may not answer.
    spansFor: (access) => (access === undefined ? read(functions.store()) : spansFor(functions.store(), access)),
  };
  provideListFunctions(context, functions);
  provideReadFunctions(context, functions);
  provideTransferFunctions(context, functions, drops);
}
