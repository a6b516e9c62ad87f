import { CallError, channelRefSchema } from "@svc/protocol";
import { z } from "zod";
import type { Clock } from "../../../../kernel/clock.ts";
import { schemaOf } from "../../../../kernel/lazy-schema.ts";
import type { ModuleContext } from "../../../../kernel/module.ts";
import type { DropCounter, SpanRecord } from "../../model.ts";
import { readLines, writeLines } from "../../transfer/line-channel.ts";
import { allTraces } from "../all-traces.ts";
import { MAX_LISTED_SPANS, type SpanReader, type SpanStore } from "../span-store.ts";
import { storedSpan } from "../stored-span.ts";
import { type TraceFilters, traceFiltersSchema } from "../trace-query.ts";
import type { TraceFunctions } from "./provide-traces.ts";
import { readStoredSpan } from "./read-stored-span.ts";

/** Exports and imports at once. An export whose reader does not come is ended by the channel's own limit. */
const MAX_TRANSFERS = 8;
/** Spans that are taken in before others get their turn. */
const TURN_SPANS = 500;

const formatSchema = z.enum(["ndjson", "otlp_json"]).default("ndjson");
type Format = z.infer<typeof formatSchema>;
const lines = channelRefSchema.meta({ description: "The reading end of a channel of lines" });

/** Functions that move or remove traces in bulk. */
export function provideTransferring(context: ModuleContext<unknown>, functions: TraceFunctions, drops: DropCounter): void {
  let transfers = 0;
  const enter = (): void => {
    if (transfers >= MAX_TRANSFERS) throw new CallError("overloaded", `${MAX_TRANSFERS} exports and imports of traces are under way, which is the limit`);
    transfers += 1;
  };

  context.provideFunction({
    id: "engine::traces::export",
    summary: "Writes the spans of the traces that match into a channel, a line of JSON each; with otlp_json a line is an OTLP request of one trace",
    input: () => z.object({ ...schemaOf(traceFiltersSchema).shape, format: formatSchema }),
    output: () => z.object({ lines }),
    handle({ format, ...filters }, { access, caller }) {
      const store = functions.spansFor(access);
      enter();
      const channel = context.createChannel({ ownedBy: caller });
      // Does not reject.
      void writeLines(channel.takeWriter(), exportedLines(store, filters, format), context.clock).then(() => {
        transfers -= 1;
      });
      return { lines: channel.readerRef };
    },
  });
  context.provideFunction({
    id: "engine::traces::import",
    summary: "Takes in spans from a channel, as engine::traces::export writes them; a line, or a span of a request, that is none is counted as refused",
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
    summary: "Removes every span that is kept; it administers the engine",
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

/** Spans of a line, and how many of it were none. */
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
      // Else an import would fill the bounded queue of the disk faster than it is written, and spans would be dropped.
      if (imported % TURN_SPANS === 0) await store.flush();
    }
  }
  await store.flush();
  return { imported, refused };
}
