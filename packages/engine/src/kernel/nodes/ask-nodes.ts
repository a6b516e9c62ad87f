import { randomUUID } from "node:crypto";
import { CallError, Payload } from "@svc-runtime/protocol";
import type { NodeFrameOf } from "@svc-runtime/protocol/nodes";
import type { Clock } from "../clock.ts";
import type { AskOptions, NodeAnswers, NodeQuestions } from "../nodes-contract.ts";
import type { Undo } from "../scope.ts";
import { payloadOf } from "./call-payloads.ts";
import type { Peer } from "./peer.ts";

/** How long answers are waited for, in milliseconds. */
const WAIT_MS = 500;
/** Maximum size of an answer, in bytes. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;
/** Maximum number of questions of this node that wait for answers. Further ones are answered by this node alone. */
const MAX_WAITING = 1_000;
/**
 * Maximum number of questions of one peer that are being answered. Further ones are refused. Answers share the link with
 * calls, so all of them at their largest are less than the link buffers for a peer.
 */
const MAX_ANSWERING = 8;
const TOO_MANY = "too many questions at a time";

/** The problem of a node that has nobody for this topic: an earlier version, which does not know it. */
export const noAnswererOf = (topic: string): string => `no module answers questions about ${topic}`;

type Answerer = (question: Payload) => Payload | Promise<Payload>;

interface Question {
  readonly answers: { readonly node: string; readonly answer: Payload }[];
  /** Nodes that have not answered, by the peer; undefined stands for this node. */
  readonly waiting: Map<Peer | undefined, string>;
  /** Why nodes did not answer, by name. */
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
  /** Names of the nodes that were peers and are gone. */
  readonly gone: () => Iterable<string>;
}

/** Asks all nodes a question, and answers those of peers. */
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

  /** A peer has asked. */
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

  /** A peer has answered. Late answers have no effect. */
  told(peer: Peer, { id, problem }: NodeFrameOf<"tell">, bytes: Uint8Array): void {
    const question = this.#questions.get(id);
    if (question !== undefined) this.#settleOne(question, peer, problem ?? payloadOf(bytes) ?? Payload.null);
  }

  gone(peer: Peer): void {
    this.#answering.delete(peer);
    for (const question of [...this.#questions.values()]) this.#settleOne(question, peer, "the node is gone");
  }

  /** `answer`: a text is the reason why there is none. */
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
