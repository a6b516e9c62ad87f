import type { CallerAccess } from "@svc-runtime/engine/module";
import type { SpanReader, SpanStore } from "../span-store.ts";

export interface TraceFunctions {
  /** Returns the store. Throws `memory_exporter_not_enabled` if spans are not stored. */
  store(): SpanStore;
  /** Returns a reader for the spans that the caller may see. */
  spansFor(access: CallerAccess | undefined): SpanReader;
}
