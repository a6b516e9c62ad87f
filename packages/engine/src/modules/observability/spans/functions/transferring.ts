import { CallError, channelRefSchema } from "@svc/protocol";
import { z } from "zod";
import { linesOf } from "../../../../items/line-reader.ts";
import { schemaOf } from "../../../../kernel/late-schema.ts";
import type { ChannelWriter, ModuleContext } from "../../../../kernel/module.ts";
import type { SpanRecord } from "../../model.ts";
import { allTraces } from "../all-traces.ts";
import { MAX_LISTED_SPANS, type SpanStore } from "../span-store.ts";
import { storedSpan } from "../stored-span.ts";
import { type TraceFilters, traceFiltersSchema } from "../trace-query.ts";
import type { TraceFunctions } from "./provide-traces.ts";
import { readStoredSpan } from "./read-stored-span.ts";

/** Exports and imports at once. An export whose reader does not come is ended by the channel's own limit. */
const MAX_TRANSFERS = 8;
/** Characters that are written as one item. */
const PIECE_CHARACTERS = 64 * 1024;
/** Longest line of an import, in characters. */
const MAX_LINE = 4 * 1024 * 1024;
/** A reader that takes nothing for so long is given up, in milliseconds. */
const STALL_LIMIT_MS = 300_000;
/** Spans that are taken in before others get their turn. */
const TURN_SPANS = 500;

const lines = channelRefSchema.meta({ description: "The reading end of a channel of lines" });

/** Functions that move or remove traces in bulk. */
export function provideTransferring(context: ModuleContext<unknown>, functions: TraceFunctions): void {
  let transfers = 0;
  const enter = (): void => {
    if (transfers >= MAX_TRANSFERS) throw new CallError("overloaded", `${MAX_TRANSFERS} exports and imports of traces are under way, which is the limit`);
    transfers += 1;
  };

  context.provideFunction({
    id: "engine::traces::export",
    summary: "Writes the spans of the traces that match into a channel, a line of JSON each; with otlp_json a line is an OTLP request of one trace",
    input: () => z.object({ ...schemaOf(traceFiltersSchema).shape, format: z.enum(["ndjson", "otlp_json"]).default("ndjson") }),
    output: () => z.object({ lines }),
    handle({ format, ...filters }, { caller }) {
      const store = functions.store();
      enter();
      const channel = context.createChannel({ ownedBy: caller });
      void exportTraces(context, store, { filters, format, writer: channel.takeWriter() }).finally(() => {
        transfers -= 1;
      });
      return { lines: channel.readerRef };
    },
  });
  context.provideFunction({
    id: "engine::traces::import",
    summary: "Takes in spans from a channel, as engine::traces::export writes them with ndjson; a line that is no span is counted as refused",
    input: () => z.object({ lines, format: z.enum(["ndjson"]).default("ndjson") }),
    output: () => z.object({ imported: z.int().min(0), refused: z.int().min(0) }),
    async handle(input, { signal }) {
      const store = functions.store();
      enter();
      try {
        return await importLines(store, linesOf(context.takeChannelReader(input.lines), MAX_LINE), signal);
      } finally {
        transfers -= 1;
      }
    },
  });
  context.provideFunction({
    id: "engine::traces::clear",
    summary: "Removes every span that is kept; it administers the engine",
    input: () => z.object({}),
    output: () => z.object({ success: z.literal(true) }),
    async handle() {
      await functions.store().clear();
      return { success: true };
    },
  });
}

/** Never rejects: what goes wrong tears the channel. */
async function exportTraces(
  context: ModuleContext<unknown>,
  store: SpanStore,
  { filters, format, writer }: { readonly filters: TraceFilters; readonly format: "ndjson" | "otlp_json"; readonly writer: ChannelWriter },
): Promise<void> {
  try {
    const linesOfTrace = format === "ndjson" ? storedLines : await otlpLines();
    let piece = "";
    for await (const { facts, spans } of allTraces(store, filters, "all")) {
      const all = facts.spanCount > MAX_LISTED_SPANS ? await store.spansOf(facts.traceId) : spans;
      for (const line of linesOfTrace(all)) {
        piece += `${line}\n`;
        if (piece.length < PIECE_CHARACTERS) continue;
        if (!(await write(context, writer, piece))) return;
        piece = "";
      }
    }
    if (piece !== "" && !(await write(context, writer, piece))) return;
    writer.end();
  } catch (error) {
    context.log.warn("an export of traces broke off", { error });
    writer.abort(`the export broke off: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** False when the reader is gone or has taken nothing for too long. */
async function write(context: ModuleContext<unknown>, writer: ChannelWriter, text: string): Promise<boolean> {
  const cancel = context.clock.after(STALL_LIMIT_MS, () => writer.abort(`nothing was read for ${STALL_LIMIT_MS / 1_000} s`));
  try {
    return await writer.write({ kind: "text", text });
  } finally {
    cancel();
  }
}

function* storedLines(spans: readonly SpanRecord[]): Generator<string> {
  for (const span of spans) yield JSON.stringify(storedSpan(span));
}

async function otlpLines(): Promise<(spans: readonly SpanRecord[]) => Iterable<string>> {
  const { encodeTraces } = await import("../../otlp/encode.ts");
  return (spans) => [JSON.stringify(encodeTraces(spans))];
}

async function importLines(
  store: SpanStore,
  texts: AsyncIterable<{ readonly text: string }>,
  signal: AbortSignal,
): Promise<{ imported: number; refused: number }> {
  let imported = 0;
  let refused = 0;
  for await (const { text } of texts) {
    signal.throwIfAborted();
    const span = readStoredSpan(text);
    if (span === undefined) {
      refused += 1;
      continue;
    }
    store.ended(span);
    imported += 1;
    // Else an import would fill the bounded queue of the disk faster than it is written, and spans would be dropped.
    if (imported % TURN_SPANS === 0) await store.flush();
  }
  await store.flush();
  return { imported, refused };
}
