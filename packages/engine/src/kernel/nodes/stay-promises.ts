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
  /** Returns whether this node keeps its workers. */
  readonly isUp: () => boolean;
  readonly peers: () => Iterable<{ readonly name: string; readonly state: "up" | "draining" }>;
}

/**
 * Keeps nodes that are drained at the same time from all going out of service: a node is drained only if another one
 * promises to stay. A node promises that only while it is up and does not ask itself, or after its own question failed.
 * If it is drained later, it has a promise that was given after its own. So the node that gives the last promise stays.
 * Of two that ask each other, the one with the smaller run does not wait: it promises nothing.
 */
export class StayPromises {
  readonly #ports: StayPorts;
  /** Resolves with whether another node stays. Set while this one asks. */
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
    // An earlier version does not know the question.
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
