import { Payload } from "@svc-runtime/protocol";
import { z } from "zod";
import { type AskNodes, noAnswererOf } from "./ask-nodes.ts";

export const TOPIC = "engine::stays";
/** Timeout of the question, in milliseconds. Shorter than the timeout of the request to drain this node. */
const WAIT_MS = 2_500;

const questionSchema = z.object({ run: z.string() });
const answerSchema = z.object({ stays: z.boolean() });

export interface StayPorts {
  readonly questions: Pick<AskNodes, "ask" | "answer">;
  /** This run. */
  readonly run: string;
  /** Returns true if this node is not draining. */
  readonly isUp: () => boolean;
  readonly peers: () => Iterable<{ readonly name: string; readonly state: "up" | "draining" }>;
}

/**
 * Prevents all nodes from being drained at the same time. A node is drained only if another node promises to stay. A
 * node gives this promise only while it is up, in two cases: it does not ask for a promise itself; or it did, and
 * nobody promised. If a node that gave a promise is drained later, another node has given a promise after it. So the
 * node that gave the last promise stays. If two nodes ask each other, the node with the smaller run refuses at once, so
 * that they do not wait for each other.
 */
export class StayPromises {
  readonly #ports: StayPorts;
  /** The pending question of this node, if it asks now. Resolves with true if another node promises to stay. */
  #asking: Promise<boolean> | undefined;

  constructor(ports: StayPorts) {
    this.#ports = ports;
    ports.questions.answer(TOPIC, async (question) => Payload.fromValue({ stays: await this.#stays(question) }));
  }

  /** Resolves with whether another node promises to stay. */
  ask(): Promise<boolean> {
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async #ask(): Promise<boolean> {
    const { questions, run, peers } = this.#ports;
    const { answers, problems } = await questions.ask(TOPIC, Payload.fromValue({ run }), {
      waitMs: WAIT_MS,
      isEnough: doesStay,
    });
    if (answers.some(({ answer }) => doesStay(answer))) return true;
    // A peer with an earlier version does not know the question. If it is up, this counts as its promise.
    return [...peers()].some(({ name, state }) => state === "up" && problems.get(name) === noAnswererOf(TOPIC));
  }

  async #stays(question: Payload): Promise<boolean> {
    const { run, isUp } = this.#ports;
    const other = questionSchema.parse(question.value()).run;
    if (other === run || !isUp()) return false;
    if (this.#asking === undefined) return true;
    if (run < other) return false;
    const isDrained = await this.#asking;
    return !isDrained && isUp();
  }
}

function doesStay(answer: Payload): boolean {
  return answerSchema.safeParse(answer.value()).data?.stays === true;
}
