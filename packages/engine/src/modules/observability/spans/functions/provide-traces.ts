import { CallError } from "@svc/protocol";
import type { CallerAccess, ModuleContext } from "../../../../kernel/module.ts";
import type { DropCounter } from "../../model.ts";
import type { SpanReader, SpanStore } from "../span-store.ts";
import { spansFor } from "../visible-spans.ts";
import { provideListing } from "./listing.ts";
import { provideReading } from "./reading.ts";
import { provideTransferring } from "./transferring.ts";

/** What the functions work on. */
export interface TraceFunctions {
  /** Throws `memory_exporter_not_enabled` where spans are not kept. */
  store(): SpanStore;
  /** The same as far as the caller may see it. */
  spansFor(access: CallerAccess | undefined): SpanReader;
}

/** `engine::traces::*`. `store` undefined: spans are only sent elsewhere, and every one of them says so. */
export function provideTraces(context: ModuleContext<unknown>, store: SpanStore | undefined, drops: DropCounter): void {
  const functions: TraceFunctions = {
    store() {
      if (store !== undefined) return store;
      throw new CallError(
        "memory_exporter_not_enabled",
        "In-memory span storage is not available. Set exporter: memory or both in config, in the block svc-observability, e.g. `exporter: both`",
      );
    },
    spansFor: (access) => spansFor(functions.store(), access),
  };
  provideListing(context, functions);
  provideReading(context, functions);
  provideTransferring(context, functions, drops);
}
