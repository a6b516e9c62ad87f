import { CallError, channelRefSchema } from "@svc/protocol";
import { z } from "zod";
import { prefixSchema } from "../../../items/item-name.ts";
import type { ModuleContext } from "../../../kernel/module.ts";
import { scope } from "../inputs.ts";
import { originOf, type StateServices } from "../state-services.ts";
import type { Exports } from "../transfer/exports.ts";
import { importLines } from "../transfer/import.ts";
import { snapshotFile, snapshotNameSchema } from "../transfer/snapshot-file.ts";

/** Imports at once; each holds a batch of lines. */
const MAX_IMPORTS = 16;

const lines = channelRefSchema.meta({ description: "The reading end of a channel of NDJSON" });

/** The functions that move items in bulk. */
export function provideTransferring(
  context: ModuleContext<unknown>,
  services: StateServices & { readonly exports: Exports; readonly snapshotEnding: string },
): void {
  const { store, writes, clock, limits, exports } = services;
  let imports = 0;
  let snapshotUnderWay = false;

  context.provideFunction({
    id: "state::export",
    summary: "Writes items into a channel as lines of JSON: all of them, a scope's, or those of a prefix",
    input: z.strictObject({ scope: scope.optional(), prefix: prefixSchema.default("") }),
    output: z.object({ lines }),
    handle: (input, { caller }) => ({ lines: exports.start(context.createChannel({ ownedBy: caller }), { scope: input.scope, prefix: input.prefix }) }),
  });
  context.provideFunction({
    id: "state::import",
    summary: "Stores the items that a channel brings, as state::export writes them; answers how many",
    input: z.strictObject({
      lines,
      on_existing: z
        .enum(["overwrite", "skip", "fail"])
        .default("overwrite")
        .meta({ description: "What becomes of a line whose item exists. Default overwrite; fail ends the import there" }),
    }),
    output: z.object({ imported: z.int().min(0), skipped: z.int().min(0) }),
    async handle(input, caller) {
      if (imports >= MAX_IMPORTS) throw new CallError("overloaded", `${MAX_IMPORTS} imports are under way, which is the limit`);
      imports += 1;
      try {
        const reader = context.takeChannelReader(input.lines);
        const { signal } = caller;
        return await importLines({
          ...{ reader, writes, clock, signal, origin: originOf(caller) },
          onExisting: input.on_existing,
          maxValueBytes: limits.maxValueBytes,
        });
      } finally {
        imports -= 1;
      }
    },
  });
  context.provideFunction({
    id: "state::snapshot",
    summary: "Writes all items of this moment to a file below the data folder, while others go on; it administers the engine",
    input: z.strictObject({ name: snapshotNameSchema.optional() }),
    output: z.object({ file: z.string(), bytes: z.int().min(0) }),
    async handle({ name }) {
      // Each has a thread that reads the whole store, and two of one name would not see each other's file.
      if (snapshotUnderWay) throw new CallError("overloaded", "a snapshot is under way, and one is written at a time; ask again when it is done");
      snapshotUnderWay = true;
      try {
        const file = snapshotFile({ dataDir: context.dataDir, name, nowMs: clock.now(), ending: services.snapshotEnding });
        const { bytes } = await store.snapshot(file);
        return { file, bytes };
      } finally {
        snapshotUnderWay = false;
      }
    },
  });
}
