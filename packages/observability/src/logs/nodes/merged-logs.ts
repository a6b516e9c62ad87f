import type { ModuleContext, NodeQuestions } from "@svc-runtime/engine/module";
import { CallError } from "@svc-runtime/protocol";
import { z } from "zod";
import { AskedNodes, checkOffset, checkProgress, mergedFrom } from "../../query/ask-nodes.ts";
import { readCursor, writeCursor } from "../../query/cursor.ts";
import { NodePositions, type PageOfNode, type RowOfNode } from "../../query/node-positions.ts";
import { LOG_QUESTIONS } from "../../query/topics.ts";
import type { AroundInput, FacetsInput, HistogramInput, ListInput } from "../functions/inputs.ts";
import type { LogFilterInput } from "../log-filter-input.ts";
import { type LogId, logIdOf } from "../log-json.ts";
import { MAX_LIST_BYTES } from "../log-queries.ts";
import { Tally } from "../log-tally.ts";
import { aroundSchema, countSchema, entrySchema, facetsSchema, histogramSchema, pageSchema } from "./log-questions.ts";

/** Maximum number of pages that one request fetches from each node. The client's next request continues after them. */
const MAX_PAGES = 10;
const MAX_PAGE = 5_000;

const cursorParts = z.tuple([z.string()]);
const logPosition = z.tuple([z.string().regex(/^\d{20}$/), z.int().min(0)]);
const NOTHING_COUNTED = { total: 0, whole: false };

type Log = Readonly<Record<string, unknown>> & { readonly id: string };

interface Row extends RowOfNode {
  readonly log: Log;
}

interface Counted {
  readonly total: number;
  readonly isWhole: boolean;
}

/** Collects the entries of a list until it has `limit` entries. */
class TakenLogs {
  readonly logs: Log[] = [];
  #toSkip: number;
  readonly #limit: number;
  #bytes = 0;

  constructor(skip: number, limit: number) {
    this.#toSkip = skip;
    this.#limit = limit;
  }

  get toSkip(): number {
    return this.#toSkip;
  }

  /** Number of rows that are still needed, including those to be skipped. */
  get missing(): number {
    return this.#toSkip + this.#limit - this.logs.length;
  }

  get isFull(): boolean {
    return this.#bytes > MAX_LIST_BYTES || this.logs.length >= this.#limit;
  }

  /** Adds the rows that are still needed. Returns the number of rows that were used. */
  take(rows: readonly Row[]): number {
    const skipped = Math.min(this.#toSkip, rows.length);
    this.#toSkip -= skipped;
    for (const [index, { log }] of rows.slice(skipped).entries()) {
      if (this.isFull) return skipped + index;
      this.#bytes += Buffer.byteLength(JSON.stringify(log));
      if (this.#bytes > MAX_LIST_BYTES && this.logs.length > 0) return skipped + index;
      this.logs.push(log);
    }
    return rows.length;
  }
}

/** The log entries of all nodes of the cluster, in order of time. An object is used for one request. */
export class MergedLogs {
  readonly #asked: AskedNodes;

  constructor(nodes: NodeQuestions, clock: ModuleContext<unknown>["clock"]) {
    this.#asked = new AskedNodes(nodes, LOG_QUESTIONS, clock);
  }

  /** Returns the members of a result that say which nodes answered. */
  get from(): object {
    return mergedFrom(this.#asked);
  }

  async list({
    cursor,
    offset,
    limit,
    ...filter
  }: ListInput): Promise<Counted & { readonly logs: readonly Log[]; readonly cursor: string | null }> {
    const order = filter.sort_order ?? "desc";
    const kind = `logs.${order}.nodes`;
    const after = cursor == null ? undefined : readCursor(kind, cursor, cursorParts)[0];
    const positions = NodePositions.from(after, { skip: offset ?? 0, position: logPosition });
    checkOffset(positions.skip);
    const taken = new TakenLogs(positions.skip, limit ?? 200);
    let counted: Counted | undefined;
    for (let page = 0; this.#mayGoOn(page) && !positions.nobodyHasMore && !taken.isFull; page += 1) {
      const question = {
        ...{ what: "page", filter, starts: positions.starts },
        limit: Math.min(MAX_PAGE, taken.missing),
        count: page === 0,
      };
      const answers = await this.#asked.ask(question, pageSchema);
      counted ??= countedIn(answers.map(({ answer }) => ({ answer: answer.counted ?? NOTHING_COUNTED })));
      const pages = answers.map(
        ({ node, answer: { rows, next } }): PageOfNode<Row> => ({
          node,
          rows: rows.map((row) => ({ node, at: row.at, log: withNode(row.log, node) })),
          next: next ?? undefined,
        }),
      );
      const merged = positions.merge(pages, order === "desc");
      positions.advance(merged, taken.take(merged.rows));
    }
    const next = positions.isEnd(this.#asked.silent) ? undefined : positions.next(taken.toSkip);
    checkProgress(after, next);
    return {
      logs: taken.logs,
      ...(counted ?? { total: 0, isWhole: true }),
      cursor: next === undefined ? null : writeCursor(kind, [next]),
    };
  }

  /** Returns whether another page may be fetched now. If not, the client's next request continues at this position. */
  #mayGoOn(page: number): boolean {
    return page === 0 || (page < MAX_PAGES && !this.#asked.isOver);
  }

  /** Returns an entry. Throws NOT_FOUND if it does not exist. */
  async get({ id, node }: Required<LogId>): Promise<Log> {
    const answers = await this.#asked.ask({ what: "entry", node, id }, entrySchema);
    const found = answers.find(({ answer }) => answer.found !== null)?.answer.found;
    if (found == null) throw this.#notFound({ id, node });
    return withNode(found, node);
  }

  /**
   * Returns an entry and its neighbours in time from the entry's own node. Throws NOT_FOUND if the entry does not
   * exist.
   */
  async around({ id, node }: Required<LogId>, input: Omit<AroundInput, "id">) {
    const answers = await this.#asked.ask({ what: "around", node, input: { ...input, id } }, aroundSchema);
    const found = answers.find(({ answer }) => answer.found !== null)?.answer.found;
    if (found == null) throw this.#notFound({ id, node });
    return { ...found, logs: found.logs.map((log) => withNode(log, node)) };
  }

  async facets(
    filter: FacetsInput,
  ): Promise<Counted & { readonly facets: ReadonlyMap<string, ReadonlyMap<string, number>> }> {
    const answers = await this.#asked.ask({ what: "facets", filter }, facetsSchema);
    const tally = new Tally({ facets: filter.facets ?? [], histogram: undefined });
    for (const { answer } of answers)
      tally.merge({
        ...{ total: 0, histogram: [], firstMs: undefined, lastMs: undefined, next: undefined },
        facets: new Map(Object.entries(answer.facets).map(([name, counts]) => [name, new Map(Object.entries(counts))])),
      });
    return { ...countedIn(answers), facets: tally.facets };
  }

  /** Returns the times of the first and the last match. */
  async span(
    filter: LogFilterInput,
  ): Promise<{ readonly firstMs: number | undefined; readonly lastMs: number | undefined }> {
    const answers = await this.#asked.ask({ what: "count", filter }, countSchema);
    const firsts = answers.flatMap(({ answer }) => answer.first_ms ?? []);
    const lasts = answers.flatMap(({ answer }) => answer.last_ms ?? []);
    return {
      firstMs: firsts.length === 0 ? undefined : Math.min(...firsts),
      lastMs: lasts.length === 0 ? undefined : Math.max(...lasts),
    };
  }

  async histogram(
    filter: Omit<HistogramInput, "buckets">,
    { startMs, endMs, buckets }: { readonly startMs: number; readonly endMs: number; readonly buckets: number },
  ): Promise<Counted & { readonly levels: readonly (readonly number[])[] }> {
    const question = { what: "histogram", filter, start_ms: startMs, end_ms: endMs, buckets };
    const answers = await this.#asked.ask(question, histogramSchema);
    const tally = new Tally({ facets: [], histogram: { startMs, endMs, buckets } });
    for (const { answer } of answers)
      tally.merge({
        ...{ total: 0, facets: new Map(), firstMs: undefined, lastMs: undefined, next: undefined },
        histogram: answer.levels,
      });
    return { ...countedIn(answers), levels: tally.histogram };
  }

  #notFound({ id, node }: Required<LogId>): CallError {
    const why = this.#asked.missing.includes(node) ? `${node} did not answer` : "it may have been evicted";
    return new CallError("NOT_FOUND", `log entry ${id}@${node} not found; ${why}`);
  }
}

function countedIn(
  answers: readonly { readonly answer: { readonly total: number; readonly whole: boolean } }[],
): Counted {
  return {
    total: answers.reduce((sum, { answer }) => sum + answer.total, 0),
    isWhole: answers.every(({ answer }) => answer.whole),
  };
}

/** Adds the node to an entry. Entries that a node stored before it joined a cluster have no node. */
function withNode(log: Log, node: string): Log {
  const { id } = logIdOf(log.id);
  return { ...log, id: `${id}@${node}`, node };
}
