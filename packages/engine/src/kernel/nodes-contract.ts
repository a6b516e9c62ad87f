import type { Payload } from "@svc-runtime/protocol";
import type { Undo } from "./scope.ts";

/** What the nodes of a cluster answered to a question, this node included. */
export interface NodeAnswers {
  /** By name of the node. */
  readonly answers: readonly { readonly node: string; readonly answer: Payload }[];
  /** Names of the nodes that are there and did not answer in time, or said why they cannot, in order. */
  readonly missing: readonly string[];
  /** Why nodes in `missing` did not answer, by name. Those that are not in it were silent. */
  readonly problems: ReadonlyMap<string, string>;
  /** Names of the nodes that were there and are gone, in order. */
  readonly gone: readonly string[];
}

export interface AskOptions {
  /** How long answers are waited for, in milliseconds. Default 500. */
  readonly waitMs?: number;
  /** Returns whether no further answer is needed after this one. */
  readonly isEnough?: (answer: Payload) => boolean;
  /** Names of other nodes that are not asked. */
  readonly without?: ReadonlySet<string>;
}

/** Questions between the same modules of the nodes of a cluster, e.g. about what each of them recorded. */
export interface NodeQuestions {
  /** Name of this node. */
  readonly name: string;
  /** Answers the questions about a topic, those of this node too. A topic is answered by one module. */
  answer(topic: string, answer: (question: Payload) => Payload | Promise<Payload>): Undo;
  /** Asks all nodes. Resolves when all have answered, and within 500 ms if nothing else is given. Never rejects. */
  ask(topic: string, question: Payload, options?: AskOptions): Promise<NodeAnswers>;
}
