import { CallError, channelRefSchema } from "@svc-runtime/protocol";
import { z } from "zod";
import { prefixSchema } from "../../../items/item-name.ts";
import type { ModuleContext } from "../../../kernel/module.ts";
import { scope } from "../inputs.ts";
import { originOf, type StateServices } from "../state-services.ts";
import type { Exports } from "../transfer/exports.ts";
import { importLines } from "../transfer/import.ts";
import { snapshotFile, snapshotNameSchema } from "../transfer/snapshot-file.ts";

/** Maximum number of concurrent imports. Each holds a batch of lines in memory. */
const MAX_IMPORTS = 16;

const lines = channelRefSchema.meta({ description: "Reader of a channel of NDJSON" });

/** Provides the functions for export, import and snapshots. */
export function provideTransferFunctions(
  context: ModuleContext<unknown>,
  services: StateServices & { readonly exports: Exports; readonly snapshotEnding: string },
): void {
  const { store, writes, clock, limits, exports } = services;
  let imports = 0;
  let isSnapshotRunning = false;

  context.provideFunction({
    id: "state::export",
    summary: "Writes items to a channel as NDJSON: all items, those of a scope, or those with a prefix",
    input: z.strictObject({ scope: scope.optional(), prefix: prefixSchema.default("") }),
    output: z.object({ lines }),
    handle: (input, { caller }) => ({
      lines: exports.start(context.createChannel({ ownedBy: caller }), { scope: input.scope, prefix: input.prefix }),
    }),
  });
  context.provideFunction({
    id: "state::import",
    summary: "Stores the items of a channel in the format of state::export; returns the number of items",
    input: z.strictObject({
      lines,
      on_existing: z
        .enum(["overwrite", "skip", "fail"])
        .default("overwrite")
        .meta({ description: "What to do with a line whose item exists. Default overwrite; fail stops the import" }),
    }),
    output: z.object({ imported: z.int().min(0), skipped: z.int().min(0) }),
    async handle(input, caller) {
      if (imports >= MAX_IMPORTS)
        throw new CallError("overloaded", `the maximum of ${MAX_IMPORTS} concurrent imports is reached`);
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
    summary:
      "Writes a consistent snapshot of all items to a file in the data folder, while writes continue; an administrative function",
    input: z.strictObject({ name: snapshotNameSchema.optional() }),
    output: z.object({ file: z.string(), bytes: z.int().min(0) }),
    async handle({ name }) {
      // One snapshot at a time, for two reasons: each reads the whole store in a thread of its own; two snapshots with
      // the same name would not notice each other's file.
      if (isSnapshotRunning)
        throw new CallError("overloaded", "another snapshot is running; try again when it is done");
      isSnapshotRunning = true;
      try {
        const file = snapshotFile({
          dataDir: context.dataDir,
          name,
          nowMs: clock.now(),
          ending: services.snapshotEnding,
        });
        const { bytes } = await store.snapshot(file);
        return { file, bytes };
      } finally {
        isSnapshotRunning = false;
      }
    },
  });
}
