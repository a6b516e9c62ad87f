import type { ModuleContext, NodeQuestions } from "@svc-runtime/engine/module";
import { CallError, Payload } from "@svc-runtime/protocol";
import type { z } from "zod";

/**
 * Maximum size of the items of an answer, in bytes. It is below 4 MiB, which is the maximum size of a whole answer of a
 * node.
 */
const MAX_ANSWER_BYTES = 3 * 1024 * 1024;
/** Maximum time for all questions of one request together, in milliseconds. */
const MERGE_MS = 3_000;
/** Maximum time for one question, in milliseconds. */
const QUESTION_MS = 500;
/** Maximum `offset` of a list that is merged from several nodes. */
const MAX_OFFSET = 10_000;

export interface NodeAnswer<Answer> {
  readonly node: string;
  readonly answer: Answer;
}

/**
 * Asks all nodes of the cluster, including this one. Collects which nodes answered and which are missing.
 * - A node that stores nothing answers null.
 * - A node counts as missing if it does not answer, if it has disconnected, or if its answer has another form (for
 *   example because it runs another version).
 * - A node that did not answer is not asked again, except this node.
 * - There is one deadline for all questions together.
 */
export class AskedNodes {
  readonly #nodes: NodeQuestions;
  readonly #topic: string;
  readonly #answered = new Set<string>();
  readonly #missing = new Set<string>();
  /** The nodes of `#missing` that are still connected to the cluster. */
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
   * True if there is no time for another question. A further question is then not sent, and all nodes count as missing.
   * If it were sent with less time, nodes that answer at normal speed would count as missing.
   */
  get isOver(): boolean {
    return this.#clock.monotonic() + QUESTION_MS > this.#endsAt;
  }

  get answered(): readonly string[] {
    return [...this.#answered].filter((name) => !this.#missing.has(name)).sort();
  }

  /** Names of the nodes that did not answer a question. */
  get missing(): readonly string[] {
    return [...this.#missing].sort();
  }

  /** Names of the nodes that did not answer a question but are still connected to the cluster. */
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

/** The members of a result that say which nodes it was merged from. */
export interface MergedFrom {
  /** Names of the nodes that answered. */
  readonly nodes: readonly string[];
  /** Names of the nodes that did not answer. Left out if all answered. */
  readonly missing?: readonly string[];
}

/** Returns the members for a result. Returns no members if the engine is in no cluster. */
export function mergedFrom(
  asked: Pick<AskedNodes, "answered" | "missing"> | undefined,
): MergedFrom | Record<never, never> {
  if (asked === undefined) return {};
  const { answered: nodes, missing } = asked;
  return missing.length === 0 ? { nodes } : { nodes, missing };
}

/**
 * Throws `timeout` if the cursor after a page equals the cursor before it. Otherwise clients would request the same
 * page without end.
 */
export function checkProgress(before: string | number | undefined, next: string | number | undefined): void {
  if (next !== undefined && next === before)
    throw new CallError("timeout", "the engines of the cluster that have more did not answer in time; try again");
}

/** Throws `invalid_input` if the offset is too large, because all entries before it must be fetched from the nodes. */
export function checkOffset(offset: number): void {
  if (offset > MAX_OFFSET)
    throw new CallError("invalid_input", `\`offset\`: at most ${MAX_OFFSET} in a cluster; use \`cursor\``);
}

/** Collects JSON texts, up to a maximum number of bytes. */
export class AnswerTexts {
  readonly #texts: string[] = [];
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes = MAX_ANSWER_BYTES) {
    this.#maxBytes = maxBytes;
  }

  /** Adds a text. Returns false if it does not fit. The first text always fits, so that there is progress. */
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

  /**
   * The texts as a JSON array. This is not `toString`, because the bundler assumes that a conversion in a template has
   * no dependency on earlier calls of `add`, and would move it before them.
   */
  get json(): string {
    return `[${this.#texts.join(",")}]`;
  }
}
