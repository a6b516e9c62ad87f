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

/**
 * Whether this node's clock is right. `wrong`: for some seconds, more than half of all clocks have been ahead of it by
 * more than 1 s, or more than half behind it. It becomes `right` again when more than half agree with it. `unknown`: not
 * enough clocks were compared since the start, or they began to differ a moment ago. Lasts some seconds if all clocks
 * can be compared.
 */
export type ClockState = "right" | "wrong" | "unknown";

/** Questions between the same modules of the nodes of a cluster, e.g. for the spans that each node recorded. */
export interface NodeQuestions {
  /** Name of this node. */
  readonly name: string;
  /** Compares this node's clock with those of the other nodes. */
  clockState(): ClockState;
  /** Answers questions about a topic, including the questions of this node. Only one module may answer a topic. */
  answer(topic: string, answer: (question: Payload) => Payload | Promise<Payload>): Undo;
  /** Asks all nodes. Resolves when all nodes have answered, at the latest after `waitMs`. Never rejects. */
  ask(topic: string, question: Payload, options?: AskOptions): Promise<NodeAnswers>;
}
