import { randomUUID } from "node:crypto";
import { CallError, Payload } from "@svc-runtime/protocol";
import type { NodeFrameOf } from "@svc-runtime/protocol/nodes";
import type { Clock } from "../clock.ts";
import type { AskOptions, ClockState, NodeAnswers, NodeQuestions } from "../nodes-contract.ts";
import type { Undo } from "../scope.ts";
import { payloadOf } from "./call-payloads.ts";
import type { Peer } from "./peer.ts";

/** Default maximum time to wait for answers, in milliseconds. */
const WAIT_MS = 500;
/** Maximum size of an answer, in bytes. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;
/** Maximum number of questions of this node that wait for answers. Further questions are not sent to peers. */
const MAX_WAITING = 1_000;
/**
 * Maximum number of questions of one peer that are answered at the same time. Further questions are refused. The number
 * is low because answers use the same link as calls: 8 answers of the maximum size fit into the link's buffer for a
 * peer.
 */
const MAX_ANSWERING = 8;
const TOO_MANY = "too many questions at a time";

/** The problem that a node reports if none of its modules answers the topic, e.g. because its version is older. */
export const noAnswererOf = (topic: string): string => `no module answers questions about ${topic}`;

type Answerer = (question: Payload) => Payload | Promise<Payload>;

interface Question {
  readonly answers: { readonly node: string; readonly answer: Payload }[];
  /** Names of the nodes that have not answered yet. The key is the peer, or undefined for this node. */
  readonly waiting: Map<Peer | undefined, string>;
  /** Reasons why nodes gave no answer, by the name of the node. */
  readonly problems: Map<string, string>;
  readonly isEnough: NonNullable<AskOptions["isEnough"]>;
  readonly settle: () => void;
}

export interface AskNodesParts {
  readonly clock: Clock;
  /** Name of this node. */
  readonly name: string;
  /** Peers that have introduced themselves. */
  readonly peers: () => Iterable<Peer>;
  readonly clockState: () => ClockState;
  /** Names of the nodes that were peers and are no longer connected. */
  readonly gone: () => Iterable<string>;
}

/** Asks all nodes questions, and answers the questions of peers. */
export class AskNodes implements NodeQuestions {
  readonly #parts: AskNodesParts;
  readonly #answerers = new Map<string, Answerer>();
  readonly #questions = new Map<string, Question>();
  readonly #answering = new Map<Peer, number>();

  constructor(parts: AskNodesParts) {
    this.#parts = parts;
  }

  get name(): string {
    return this.#parts.name;
  }

  clockState(): ClockState {
    return this.#parts.clockState();
  }

  answer(topic: string, answer: Answerer): Undo {
    if (this.#answerers.has(topic)) throw new TypeError(`questions about ${topic} are answered by another module`);
    this.#answerers.set(topic, answer);
    return () => this.#answerers.delete(topic);
  }

  ask(
    topic: string,
    payload: Payload,
    { waitMs = WAIT_MS, without, isEnough = () => false }: AskOptions = {},
  ): Promise<NodeAnswers> {
    const { clock, name, peers, gone } = this.#parts;
    const id = randomUUID();
    return new Promise((resolve) => {
      const settle = (): void => {
        cancel();
        this.#questions.delete(id);
        const { problems, waiting } = question;
        const missing = [...problems.keys(), ...waiting.values()].sort();
        const answers = question.answers.sort((one, other) => (one.node < other.node ? -1 : 1));
        resolve({ answers, missing, problems, gone: [...gone()].sort() });
      };
      const waiting = new Map([[undefined, name]]);
      const question: Question = { answers: [], waiting, problems: new Map(), isEnough, settle };
      const cancel = clock.after(waitMs, settle);
      for (const peer of peers()) {
        if (without?.has(peer.name) === true) continue;
        if (this.#questions.size >= MAX_WAITING) question.problems.set(peer.name, TOO_MANY);
        else {
          question.waiting.set(peer, peer.name);
          peer.send({ type: "ask", id, topic }, payload.bytes());
        }
      }
      this.#questions.set(id, question);
      void this.#answerOf(topic, payload).then((answer) => this.#settleOne(question, undefined, answer));
    });
  }

  /** Handles a question of a peer. */
  asked(peer: Peer, { id, topic }: NodeFrameOf<"ask">, bytes: Uint8Array): void {
    const count = this.#answering.get(peer) ?? 0;
    if (count >= MAX_ANSWERING) {
      peer.send({ type: "tell", id, problem: TOO_MANY });
      return;
    }
    this.#answering.set(peer, count + 1);
    void this.#answerOf(topic, payloadOf(bytes) ?? Payload.null).then((answer) => {
      const left = (this.#answering.get(peer) ?? 1) - 1;
      if (left > 0) this.#answering.set(peer, left);
      else this.#answering.delete(peer);
      if (typeof answer === "string") peer.send({ type: "tell", id, problem: answer.slice(0, 1_024) });
      else peer.send({ type: "tell", id }, answer.bytes());
    });
  }

  /** Handles the answer of a peer. An answer that is too late has no effect. */
  told(peer: Peer, { id, problem }: NodeFrameOf<"tell">, bytes: Uint8Array): void {
    const question = this.#questions.get(id);
    if (question !== undefined) this.#settleOne(question, peer, problem ?? payloadOf(bytes) ?? Payload.null);
  }

  gone(peer: Peer): void {
    this.#answering.delete(peer);
    for (const question of [...this.#questions.values()]) this.#settleOne(question, peer, "the node is gone");
  }

  /** `answer`: the answer of the node, or a string with the reason why there is none. */
  #settleOne(question: Question, from: Peer | undefined, answer: Payload | string): void {
    const node = question.waiting.get(from);
    if (node === undefined) return;
    question.waiting.delete(from);
    if (typeof answer === "string") question.problems.set(node, answer);
    else question.answers.push({ node, answer });
    if (question.waiting.size === 0 || (typeof answer !== "string" && question.isEnough(answer))) question.settle();
  }

  async #answerOf(topic: string, question: Payload): Promise<Payload | string> {
    try {
      const answerer = this.#answerers.get(topic);
      if (answerer === undefined) return noAnswererOf(topic);
      const answer = await answerer(question);
      const bytes = answer.bytes().length;
      return bytes <= MAX_ANSWER_BYTES ? answer : `the answer has ${bytes} bytes`;
    } catch (error) {
      return CallError.from(error).message;
    }
  }
}
