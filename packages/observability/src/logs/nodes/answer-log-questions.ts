import { CallError } from "@svc-runtime/protocol";
import { AnswerTexts } from "../../query/ask-nodes.ts";
import { type Position, pageStartOf } from "../../query/node-positions.ts";
import type { LogFilter } from "../log-filter.ts";
import { type LogFilterInput, logFilterOf } from "../log-filter-input.ts";
import { logJson, type RedactAttributes } from "../log-json.ts";
import type { LogQueries } from "../log-queries.ts";
import type { LogPosition } from "../log-store.ts";
import { positionOf } from "../log-tally.ts";
import type { StoredLog } from "../stored-log.ts";
import { type Question, questionSchema } from "./log-questions.ts";

type QuestionOf<What extends Question["what"]> = Extract<Question, { readonly what: What }>;

/** Number of digits to which times are padded, so that their order as text is their order as numbers. */
const TIME_DIGITS = 20;

export interface LogAnswersParts {
  /** Name of this node. */
  readonly node: string;
  readonly queries: LogQueries;
  readonly redact: RedactAttributes;
  /** Returns the redacted keys of the current config. */
  readonly redactKeys: () => readonly string[];
}

/** Answers questions of other nodes about the log entries of this node. */
export class LogAnswers {
  readonly #parts: LogAnswersParts;

  constructor(parts: LogAnswersParts) {
    this.#parts = parts;
  }

  /** Answers one question. Returns JSON. */
  async answer(value: unknown): Promise<string> {
    const question = questionSchema.parse(value);
    switch (question.what) {
      case "page":
        return this.#page(question);
      case "count":
        return this.#count(question);
      case "facets":
        return this.#facets(question);
      case "histogram":
        return this.#histogram(question);
      case "entry":
        return this.#ofThisNode(question, async () => this.#json(await this.#parts.queries.get(Number(question.id))));
      case "around":
        return this.#ofThisNode(question, () => this.#around(question));
    }
  }

  async #page({ filter, starts, limit, count }: QuestionOf<"page">): Promise<string> {
    const { node, queries } = this.#parts;
    const start = pageStartOf(starts, node);
    const order = filter.sort_order ?? "desc";
    const wanted = this.#filter(filter);
    const page =
      start === "end"
        ? { entries: [], next: undefined }
        : await queries.page({
            ...{ filter: wanted, order, limit },
            after: start === "start" ? undefined : { timeUnixNano: BigInt(start[0]), id: Number(start[1]) },
          });
    const counted = count ? await this.#total(wanted) : null;
    const texts = new AnswerTexts();
    let next = page.next === undefined ? null : wireOf(page.next);
    let last: Position | undefined;
    for (const entry of page.entries) {
      const at = wireOf(positionOf(entry));
      if (!texts.add(`{"log":${this.#json(entry)},"at":${JSON.stringify(at)}}`)) {
        next = last ?? null;
        break;
      }
      last = at;
    }
    return `{"rows":${texts.json},"next":${JSON.stringify(next)},"counted":${JSON.stringify(counted)}}`;
  }

  async #total(filter: LogFilter): Promise<{ readonly total: number; readonly whole: boolean }> {
    const { tally, isWhole } = await this.#parts.queries.tally(filter);
    return { total: tally.total, whole: isWhole };
  }

  async #count({ filter }: QuestionOf<"count">): Promise<string> {
    const { tally, isWhole } = await this.#parts.queries.tally(this.#filter(filter));
    const { total, firstMs: first_ms, lastMs: last_ms } = tally;
    return JSON.stringify({ total, whole: isWhole, first_ms, last_ms });
  }

  async #facets({ filter: { facets, ...filter } }: QuestionOf<"facets">): Promise<string> {
    const { tally, isWhole } = await this.#parts.queries.tally(this.#filter(filter), { facets: facets ?? [] });
    const counted = [...tally.facets].map(([name, counts]) => [name, Object.fromEntries(counts)] as const);
    return JSON.stringify({ total: tally.total, whole: isWhole, facets: Object.fromEntries(counted) });
  }

  async #histogram({ filter, start_ms, end_ms, buckets }: QuestionOf<"histogram">): Promise<string> {
    const { tally, isWhole } = await this.#parts.queries.tally(this.#filter(filter), {
      histogram: { startMs: start_ms, endMs: end_ms, buckets },
    });
    return JSON.stringify({ total: tally.total, whole: isWhole, levels: tally.histogram });
  }

  async #around({ input: { id, before, after, ...filter } }: QuestionOf<"around">): Promise<string> {
    const found = await this.#parts.queries.around(Number(id), {
      before: before ?? 50,
      after: after ?? 50,
      filter: this.#filter(filter),
    });
    const logs = new AnswerTexts();
    for (const entry of found.entries) if (!logs.add(this.#json(entry))) break;
    return `{"logs":${logs.json},"more_before":${found.moreBefore},"more_after":${found.moreAfter}}`;
  }

  /**
   * Calls `answer` if the question is for this node. Returns `{"found":null}` if it is for another node, or if the
   * entry does not exist.
   */
  async #ofThisNode({ node }: { readonly node: string }, answer: () => Promise<string>): Promise<string> {
    if (node !== this.#parts.node) return `{"found":null}`;
    try {
      return `{"found":${await answer()}}`;
    } catch (error) {
      if (error instanceof CallError && error.code === "NOT_FOUND") return `{"found":null}`;
      throw error;
    }
  }

  #filter(input: LogFilterInput): LogFilter {
    return logFilterOf(input, this.#parts.redactKeys());
  }

  #json(entry: StoredLog): string {
    return JSON.stringify(logJson(entry, this.#parts.redact));
  }
}

function wireOf({ timeUnixNano, id }: LogPosition): Position {
  return [timeUnixNano.toString().padStart(TIME_DIGITS, "0"), id];
}
