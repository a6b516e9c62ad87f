import type { CallerAccess } from "@svc-runtime/engine/module";
import type { SpanReader, SpanStore } from "../span-store.ts";

export interface TraceFunctions {
  /** Throws `memory_exporter_not_enabled` if spans are not stored. */
  store(): SpanStore;
  /** The part of the store that the caller may see. */
  spansFor(access: CallerAccess | undefined): SpanReader;
}
