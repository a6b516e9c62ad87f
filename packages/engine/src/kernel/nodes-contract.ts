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
 * Result of the comparison of this node's clock with the clocks of the other nodes (`nodes/clock-check.ts`). Clocks
 * agree if they differ by at most 1 s.
 *
 * - `right`: more than half of all clocks agree with this clock, which counts as one of them. A clock also counts as
 *   right if no majority was found in the first 3 s after the start, e.g. because there are two nodes and they differ.
 * - `wrong`: for 3 s, more than half of all clocks were ahead of this clock, or more than half were behind it. The clock
 *   becomes `right` again when more than half of all clocks have agreed with it for 3 s.
 * - `unknown`: this node started less than 3 s ago and no majority agrees with its clock, or a majority contradicted
 *   `right` less than 3 s ago.
 *
 * While no majority is found, e.g. because too few nodes are connected, the state remains as it was. So it may be
 * `unknown` for longer. If no majority has been found and no other node has had a right clock for 10 s, the state is
 * `right` until a majority is found or such a node is back.
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
