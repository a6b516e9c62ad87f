import type { Channel, ModuleContext } from "@svc-runtime/engine/module";
import { CallError, type ChannelRef } from "@svc-runtime/protocol";
import type { DropCounter, LogRecord } from "../telemetry-records.ts";
import { readLines, writeLines } from "../transfer/line-channel.ts";
import { sizeOf } from "./bounded-record.ts";
import type {
  AroundInput,
  ExportInput,
  FacetsInput,
  HistogramInput,
  ImportInput,
  ListInput,
  TailInput,
} from "./functions/inputs.ts";
import { LABEL_FACETS } from "./label-sets.ts";
import type { LogFilter } from "./log-filter.ts";
import { type LogFilterInput, logFilterOf } from "./log-filter-input.ts";
import { recordOfLine, recordsOfOtlp } from "./log-import.ts";
import { type LogId, logIdOf, logJson, type RedactAttributes } from "./log-json.ts";
import { logLines } from "./log-lines.ts";
import { cursorOf, LogQueries, MAX_LIST_BYTES, positionIn } from "./log-queries.ts";
import type { LogStore } from "./log-store.ts";
import { LogTail } from "./log-tail.ts";
import { positionOf } from "./log-tally.ts";
import type { LogAnswers } from "./nodes/answer-log-questions.ts";
import type { MergedLogs } from "./nodes/merged-logs.ts";
import type { RecentLogs } from "./recent-logs.ts";
import { SEVERITIES } from "./severity.ts";
import type { StoredLog } from "./stored-log.ts";

const MAX_EXPORTS = 8;
/** Number of imported entries after which the import waits until they are on disk. */
const IMPORT_STEP = 1_000;
export interface LogApiParts {
  readonly context: Pick<
    ModuleContext<unknown>,
    "clock" | "draining" | "createChannel" | "takeChannelReader" | "nodes"
  >;
  readonly store: LogStore;
  readonly recent: RecentLogs;
  readonly redact: RedactAttributes;
  /** Returns the redacted keys of the current config. */
  readonly redactKeys: () => readonly string[];
  readonly drops: DropCounter;
  readonly add: (log: LogRecord) => void;
}

/**
 * Maximum time of a query for another engine, in milliseconds. The other engine waits 500 ms for an answer, and an
 * answer needs two queries at most.
 */
const ANSWER_LIMIT_MS = 200;

/** Implements `engine::logs::*`. It is loaded when one of these functions is called for the first time. */
export class LogApi {
  readonly #parts: LogApiParts;
  readonly #queries: LogQueries;
  readonly #tail: LogTail;
  readonly #exports = new Set<Channel>();
  #answers: Promise<LogAnswers> | undefined;

  constructor(parts: LogApiParts) {
    this.#parts = parts;
    this.#queries = new LogQueries({ store: parts.store, clock: parts.context.clock });
    this.#tail = new LogTail({ recent: parts.recent, clock: parts.context.clock, draining: parts.context.draining });
  }

  /** Answers a question of another node of the cluster. Returns JSON. */
  async answer(question: unknown): Promise<string> {
    this.#answers ??= this.#openAnswers();
    return (await this.#answers).answer(question);
  }

  async #openAnswers(): Promise<LogAnswers> {
    const { context, redact, redactKeys } = this.#parts;
    const { LogAnswers } = await import("./nodes/answer-log-questions.ts");
    const queries = new LogQueries({ store: this.#parts.store, clock: context.clock, limitMs: ANSWER_LIMIT_MS });
    return new LogAnswers({ node: context.nodes?.name ?? "", queries, redact, redactKeys });
  }

  async list(input: ListInput): Promise<unknown> {
    const merged = await this.#merged(input);
    if (merged !== undefined) {
      const { isWhole, ...page } = await merged.list(input);
      return { ...page, ...(isWhole ? {} : { total_partial: true }), query: input, ...this.#times(), ...merged.from };
    }
    const order = input.sort_order ?? "desc";
    const after = positionIn(order, input.cursor);
    const skip = input.offset ?? 0;
    const page = await this.#queries.list({
      filter: this.#filter(input),
      order,
      limit: input.limit ?? 200,
      skip,
      after,
    });
    const entries = withinBytes(page.entries);
    const isCut = entries.length < page.entries.length;
    const last = entries[entries.length - 1];
    return {
      logs: entries.map((entry) => this.#json(entry)),
      total: page.total,
      ...(page.isWhole ? {} : { total_partial: true }),
      cursor: cursorOf(order, isCut && last !== undefined ? positionOf(last) : page.next),
      query: input,
      ...this.#times(),
    };
  }

  async get(id: string): Promise<unknown> {
    const found = logIdOf(id);
    const merged = await this.#merged({});
    return merged === undefined
      ? this.#json(await this.#queries.get(Number(found.id)))
      : merged.get(this.#named(found));
  }

  async around({ id, before, after, ...filter }: AroundInput): Promise<unknown> {
    const merged = await this.#merged(filter);
    if (merged !== undefined) {
      const found = await merged.around(this.#named(logIdOf(id)), { before, after, ...filter });
      return { ...found, id, ...this.#times(), ...merged.from };
    }
    const found = await this.#queries.around(Number(logIdOf(id).id), {
      before: before ?? 50,
      after: after ?? 50,
      filter: this.#filter(filter),
    });
    return {
      logs: found.entries.map((entry) => this.#json(entry)),
      id,
      more_before: found.moreBefore,
      more_after: found.moreAfter,
      ...this.#times(),
    };
  }

  async facets({ facets, ...filter }: FacetsInput): Promise<unknown> {
    const names = facets ?? [...LABEL_FACETS];
    const merged = await this.#merged(filter);
    const found = await (merged?.facets({ ...filter, facets: names }) ?? this.#facets(filter, names));
    const counted = [...found.facets].map(
      ([name, counts]) =>
        [name, [...counts].sort((a, b) => b[1] - a[1]).map(([value, count]) => ({ value, count }))] as const,
    );
    return {
      ...{ facets: recordOf(counted), total: found.total },
      ...(found.isWhole ? {} : { partial: true }),
      ...this.#times(),
      ...merged?.from,
    };
  }

  async #facets(filter: LogFilterInput, facets: readonly string[]) {
    const { tally, isWhole } = await this.#queries.tally(this.#filter(filter), { facets });
    return { facets: tally.facets, total: tally.total, isWhole };
  }

  async histogram({ buckets, ...input }: HistogramInput): Promise<unknown> {
    const merged = await this.#merged(input);
    const filter = this.#filter(input);
    const source = await this.#parts.store.open();
    const span =
      input.start_time == null || input.end_time == null
        ? await (merged?.span(input) ?? this.#queries.tally(filter, {}, source).then(({ tally }) => tally))
        : undefined;
    const startMs = input.start_time ?? Math.floor(span?.firstMs ?? this.#parts.context.clock.now());
    const endMs = Math.max(startMs + 1, input.end_time ?? Math.ceil((span?.lastMs ?? startMs) + 1));
    const count = buckets ?? 60;
    const range = { startMs, endMs, buckets: count };
    const { levels, total, isWhole } = await (merged?.histogram(input, range) ??
      this.#queries.tally(filter, { histogram: range }, source).then(({ tally, isWhole }) => ({
        ...{ levels: tally.histogram, total: tally.total, isWhole },
      })));
    const width = (endMs - startMs) / count;
    return {
      buckets: levels.map((ofBucket, index) => ({
        start_ms: startMs + index * width,
        end_ms: startMs + (index + 1) * width,
        counts: recordOf(
          SEVERITIES.map((severity, level) => [severity, ofBucket[level] ?? 0] as const).filter(
            ([, number]) => number > 0,
          ),
        ),
      })),
      total,
      ...(isWhole ? {} : { partial: true }),
      ...this.#times(),
      ...merged?.from,
    };
  }

  async tail({ after, limit, wait_ms, ...filter }: TailInput, signal: AbortSignal): Promise<unknown> {
    const result = await this.#tail.next({
      after,
      filter: this.#filter(filter),
      limit: limit ?? 500,
      waitMs: wait_ms ?? 0,
      signal,
    });
    return { logs: result.entries.map((entry) => this.#json(entry)), cursor: result.cursor, dropped: result.dropped };
  }

  export(
    { format, sort_order, ...filter }: ExportInput,
    ownedBy: Parameters<ModuleContext<unknown>["createChannel"]>[0],
  ): { readonly lines: ChannelRef } {
    const request = {
      filter: this.#filter(filter),
      order: sort_order ?? ("desc" as const),
      format: format ?? ("ndjson" as const),
      redact: this.#parts.redact,
    };
    if (this.#exports.size >= MAX_EXPORTS)
      throw new CallError("overloaded", `the limit of ${MAX_EXPORTS} concurrent exports of log entries is reached`);
    const channel = this.#parts.context.createChannel(ownedBy);
    this.#exports.add(channel);
    // The promise of `writeLines` never rejects.
    void writeLines(channel.takeWriter(), logLines(this.#queries, request), this.#parts.context.clock).then(() =>
      this.#exports.delete(channel),
    );
    return { lines: channel.readerRef };
  }

  /** Imports entries, one per line. An invalid line does not affect the others. */
  async import({ lines, format }: ImportInput): Promise<unknown> {
    const { context, drops, add, store } = this.#parts;
    const { clock } = context;
    let imported = 0;
    let refused = 0;
    for await (const line of readLines(context.takeChannelReader(lines), clock)) {
      const read =
        format === "otlp_json"
          ? recordsOfOtlp(line, { nowMs: clock.now(), drops })
          : resultOf(recordOfLine(line, clock.now()));
      for (const record of read.records) {
        add(record);
        imported += 1;
        // Waits regularly, because otherwise the import would fill the bounded disk queue faster than it is written,
        // and entries would be dropped.
        if (imported % IMPORT_STEP === 0) await store.flush();
      }
      refused += read.refused;
    }
    await store.flush();
    return { imported, refused };
  }

  async clear(): Promise<unknown> {
    await this.#parts.store.clear();
    this.#parts.recent.clear();
    return { success: true };
  }

  stop(): void {
    for (const channel of this.#exports) channel.close("svc-observability is stopping");
  }

  /**
   * Returns undefined on an engine that is in no cluster. Throws for an invalid filter, because nodes would not answer
   * it.
   */
  async #merged(filter: LogFilterInput): Promise<MergedLogs | undefined> {
    const { nodes } = this.#parts.context;
    if (nodes === undefined) return undefined;
    this.#filter(filter);
    return new (await import("./nodes/merged-logs.ts")).MergedLogs(nodes, this.#parts.context.clock);
  }

  #named({ id, node = this.#parts.context.nodes?.name ?? "" }: LogId): Required<LogId> {
    return { id, node };
  }

  #filter(input: LogFilterInput): LogFilter {
    return logFilterOf(input, this.#parts.redactKeys());
  }

  #json(entry: StoredLog): unknown {
    return logJson(entry, this.#parts.redact);
  }

  #times(): { readonly timestamp: number; readonly as_of: number } {
    const nowMs = this.#parts.context.clock.now();
    return { timestamp: nowMs, as_of: nowMs };
  }
}

function resultOf(record: LogRecord | undefined): { readonly records: readonly LogRecord[]; readonly refused: number } {
  return record === undefined ? { records: [], refused: 1 } : { records: [record], refused: 0 };
}

function withinBytes(entries: readonly StoredLog[]): readonly StoredLog[] {
  let bytes = 0;
  const end = entries.findIndex(({ log }) => {
    bytes += sizeOf(log);
    return bytes > MAX_LIST_BYTES;
  });
  return end < 0 ? entries : entries.slice(0, Math.max(1, end));
}

/** Returns an object without a prototype, because names come from users and one may be `__proto__`. */
function recordOf<T>(entries: readonly (readonly [string, T])[]): Record<string, T> {
  const record: Record<string, T> = Object.create(null);
  for (const [name, value] of entries) record[name] = value;
  return record;
}
