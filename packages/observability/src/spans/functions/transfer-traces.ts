import { type Clock, type ModuleContext, schemaOf } from "@svc-runtime/engine/module";
import { CallError, channelRefSchema } from "@svc-runtime/protocol";
import { z } from "zod";
import type { DropCounter, SpanRecord } from "../../telemetry-records.ts";
import { readLines, writeLines } from "../../transfer/line-channel.ts";
import { allTraces, MAX_LISTED_SPANS, type SpanReader, type SpanStore } from "../span-store.ts";
import { storedSpan } from "../stored-span.ts";
import { type TraceFilters, traceFiltersOf, traceFiltersSchema } from "../trace-query.ts";
import { readStoredSpan } from "./read-stored-span.ts";
import type { TraceFunctions } from "./trace-functions.ts";

/**
 * Maximum number of concurrent exports and imports. An export that nobody reads is ended by the channel's time limit.
 */
const MAX_TRANSFERS = 8;
/** Number of imported spans after which the import waits until they are stored. */
const TURN_SPANS = 500;

const formatSchema = z.enum(["ndjson", "otlp_json"]).default("ndjson");
type Format = z.infer<typeof formatSchema>;
const lines = channelRefSchema.meta({ description: "The read end of a channel of lines" });

export function provideTransferFunctions(
  context: ModuleContext<unknown>,
  functions: TraceFunctions,
  drops: DropCounter,
): void {
  let transfers = 0;
  const enter = (): void => {
    if (transfers >= MAX_TRANSFERS)
      throw new CallError(
        "overloaded",
        `the limit of ${MAX_TRANSFERS} concurrent exports and imports of traces is reached`,
      );
    transfers += 1;
  };

  context.provideFunction({
    id: "engine::traces::export",
    summary:
      "Writes the spans of matching traces to a channel, one JSON line each; with otlp_json each line is an OTLP request with one trace",
    input: () => z.object({ ...schemaOf(traceFiltersSchema).shape, format: formatSchema }),
    output: () => z.object({ lines }),
    handle({ format, ...wanted }, { access, caller }) {
      const store = functions.spansFor(access);
      const filters = traceFiltersOf(wanted);
      enter();
      const channel = context.createChannel({ ownedBy: caller });
      // The promise of `writeLines` never rejects.
      void writeLines(channel.takeWriter(), exportedLines(store, filters, format), context.clock).then(() => {
        transfers -= 1;
      });
      return { lines: channel.readerRef };
    },
  });
  context.provideFunction({
    id: "engine::traces::import",
    summary:
      "Imports spans from a channel in the format of engine::traces::export; invalid lines and spans are counted as refused",
    input: () => z.object({ lines, format: formatSchema }),
    output: () => z.object({ imported: z.int().min(0), refused: z.int().min(0) }),
    async handle(input, { signal }) {
      const store = functions.store();
      enter();
      try {
        return await importLines(store, readLines(context.takeChannelReader(input.lines), context.clock), {
          signal,
          read: await readerOf(input.format, context.clock, drops),
        });
      } finally {
        transfers -= 1;
      }
    },
  });
  context.provideFunction({
    id: "engine::traces::clear",
    summary: "Removes all stored spans; requires administrative access",
    input: () => z.object({}),
    output: () => z.object({ success: z.literal(true) }),
    async handle() {
      await functions.store().clear();
      return { success: true };
    },
  });
}

async function* exportedLines(store: SpanReader, filters: TraceFilters, format: Format): AsyncGenerator<string> {
  const linesOfTrace = format === "ndjson" ? storedLines : await otlpLines();
  for await (const { facts, spans } of allTraces(store, filters, "all")) {
    yield* linesOfTrace(facts.spanCount > MAX_LISTED_SPANS ? await store.spansOf(facts.traceId) : spans);
  }
}

function* storedLines(spans: readonly SpanRecord[]): Generator<string> {
  for (const span of spans) yield JSON.stringify(storedSpan(span));
}

async function otlpLines(): Promise<(spans: readonly SpanRecord[]) => Iterable<string>> {
  const { encodeTraces } = await import("../../otlp/encode.ts");
  return (spans) => [JSON.stringify(encodeTraces(spans))];
}

/** Returns the spans of a line, and the number of rejected ones. */
type ReadLine = (line: string) => { readonly spans: readonly SpanRecord[]; readonly refused: number };

async function readerOf(format: Format, clock: Clock, drops: DropCounter): Promise<ReadLine> {
  if (format === "otlp_json") {
    const { spansOfOtlp } = await import("./read-otlp-line.ts");
    return (line) => spansOfOtlp(line, { nowMs: clock.now(), drops });
  }
  return (line) => {
    const span = readStoredSpan(line);
    return span === undefined ? { spans: [], refused: 1 } : { spans: [span], refused: 0 };
  };
}

async function importLines(
  store: SpanStore,
  texts: AsyncIterable<string>,
  { read, signal }: { readonly read: ReadLine; readonly signal: AbortSignal },
): Promise<{ imported: number; refused: number }> {
  let imported = 0;
  let refused = 0;
  for await (const text of texts) {
    signal.throwIfAborted();
    const line = read(text);
    refused += line.refused;
    for (const span of line.spans) {
      store.ended(span);
      imported += 1;
      // Waits regularly, because otherwise the import would fill the bounded disk queue faster than it is written, and
      // spans would be dropped.
      if (imported % TURN_SPANS === 0) await store.flush();
    }
  }
  await store.flush();
  return { imported, refused };
}
