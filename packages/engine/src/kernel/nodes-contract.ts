import type { Payload } from "@svc-runtime/protocol";
import type { Undo } from "./scope.ts";

/** Answers of the nodes of a cluster to a question, including this node. */
export interface NodeAnswers {
  /** Sorted by the name of the node. */
  readonly answers: readonly { readonly node: string; readonly answer: Payload }[];
  /**
   * Sorted names of the nodes that were asked without success: they did not reply in time, or replied with a problem.
   */
  readonly missing: readonly string[];
  /** Problems of the nodes in `missing`, by name. A node of `missing` without a problem did not reply in time. */
  readonly problems: ReadonlyMap<string, string>;
  /** Sorted names of the nodes that were connected before and are not any more. They were not asked. */
  readonly gone: readonly string[];
}

export interface AskOptions {
  /** Maximum time to wait for answers, in milliseconds. Default 500. */
  readonly waitMs?: number;
  /** Returns true if this answer is enough, so that `ask` does not wait for further answers. */
  readonly isEnough?: (answer: Payload) => boolean;
  /** Names of other nodes that are not asked. */
  readonly without?: ReadonlySet<string>;
}

/** Questions between the same modules of the nodes of a cluster, e.g. for the spans that each node recorded. */
export interface NodeQuestions {
  /** Name of this node. */
  readonly name: string;
  /** True if this node's clock differs from the median of all nodes' clocks by more than 1 s. */
  isClockWrong(): boolean;
  /** Answers questions about a topic, including the questions of this node. Only one module may answer a topic. */
  answer(topic: string, answer: (question: Payload) => Payload | Promise<Payload>): Undo;
  /** Asks all nodes. Resolves when all nodes have answered, at the latest after `waitMs`. Never rejects. */
  ask(topic: string, question: Payload, options?: AskOptions): Promise<NodeAnswers>;
}
