import type { ModuleContext, NodeQuestions } from "@svc-runtime/engine/module";
import { CallError, Payload } from "@svc-runtime/protocol";
import type { z } from "zod";

/** Maximum size of the items of an answer in bytes. Nodes send at most 4 MiB. */
const MAX_ANSWER_BYTES = 3 * 1024 * 1024;
/** How long all questions of one request may take together, in milliseconds. */
const MERGE_MS = 3_000;
/** How long one of them takes at most. */
const QUESTION_MS = 500;
/** Maximum `offset` of a list that is merged. */
const MAX_OFFSET = 10_000;

export interface NodeAnswer<Answer> {
  readonly node: string;
  readonly answer: Answer;
}

/**
 * Asks all nodes of the cluster, this one included, and collects who answered and who did not or is gone. A node that stores
 * nothing answers null. One whose answer has another form, e.g. one of another version, counts as one that did not.
 * Another node that did not answer is not asked again. There is one deadline for all questions.
 */
export class AskedNodes {
  readonly #nodes: NodeQuestions;
  readonly #topic: string;
  readonly #answered = new Set<string>();
  readonly #missing = new Set<string>();
  /** Those of `#missing` that are there. */
  readonly #silent = new Set<string>();
  readonly #clock: ModuleContext<unknown>["clock"];
  readonly #endsAt: number;

  constructor(nodes: NodeQuestions, topic: string, clock: ModuleContext<unknown>["clock"]) {
    this.#nodes = nodes;
    this.#topic = topic;
    this.#clock = clock;
    this.#endsAt = clock.monotonic() + MERGE_MS;
  }

  /**
   * True when there is no time for another question. It is not asked: all nodes then count as missing. Nodes that had
   * less time than others would be missing without need.
   */
  get isOver(): boolean {
    return this.#clock.monotonic() + QUESTION_MS > this.#endsAt;
  }

  get answered(): readonly string[] {
    return [...this.#answered].filter((name) => !this.#missing.has(name)).sort();
  }

  /** Nodes that did not answer a question. */
  get missing(): readonly string[] {
    return [...this.#missing].sort();
  }

  /** Nodes that did not answer a question and are there. */
  get silent(): ReadonlySet<string> {
    return new Set(this.#silent);
  }

  async ask<Answer>(question: object, schema: z.ZodType<Answer>): Promise<NodeAnswer<Answer>[]> {
    if (this.isOver) {
      for (const node of this.#answered) this.#missing.add(node);
      return [];
    }
    const { answers, missing, gone } = await this.#nodes.ask(this.#topic, Payload.fromValue(question), {
      without: this.#silent,
    });
    for (const node of missing) this.#silent.add(node);
    for (const node of [...missing, ...gone]) this.#missing.add(node);
    return answers.flatMap(({ node, answer }) => {
      if (answer.value() === null) return [];
      const parsed = schema.safeParse(answer.value());
      (parsed.success ? this.#answered : this.#missing).add(node);
      return parsed.success ? [{ node, answer: parsed.data }] : [];
    });
  }
}

/** What an answer says about the nodes that it is merged from. */
export interface MergedFrom {
  /** Nodes that answered. */
  readonly nodes: readonly string[];
  /** Nodes that did not; without the member, all did. */
  readonly missing?: readonly string[];
}

/** Returns the members for an answer; none for an engine that is alone. */
export function mergedFrom(
  asked: Pick<AskedNodes, "answered" | "missing"> | undefined,
): MergedFrom | Record<never, never> {
  if (asked === undefined) return {};
  const { answered: nodes, missing } = asked;
  return missing.length === 0 ? { nodes } : { nodes, missing };
}

/** Throws `timeout` if the cursor after a page is the one before it: clients would ask for the same page without end. */
export function checkProgress(before: string | number | undefined, next: string | number | undefined): void {
  if (next !== undefined && next === before)
    throw new CallError("timeout", "the engines of the cluster that have more did not answer in time; try again");
}

/** Throws `invalid_input` if the offset is too large: the entries before it have to be fetched. */
export function checkOffset(offset: number): void {
  if (offset > MAX_OFFSET)
    throw new CallError("invalid_input", `\`offset\`: at most ${MAX_OFFSET} in a cluster; use \`cursor\``);
}

/** Collects JSON texts, up to a number of bytes. */
export class AnswerTexts {
  readonly #texts: string[] = [];
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes = MAX_ANSWER_BYTES) {
    this.#maxBytes = maxBytes;
  }

  /** Returns false if the text does not fit; the first always does. */
  add(text: string): boolean {
    const bytes = Buffer.byteLength(text) + 1;
    if (this.#texts.length > 0 && this.#bytes + bytes > this.#maxBytes) return false;
    this.#bytes += bytes;
    this.#texts.push(text);
    return true;
  }

  get count(): number {
    return this.#texts.length;
  }

  /** JSON of an array. Not `toString`: the bundler moves what a template converts by itself before what adds texts. */
  get json(): string {
    return `[${this.#texts.join(",")}]`;
  }
}
