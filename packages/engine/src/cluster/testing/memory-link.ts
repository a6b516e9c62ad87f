import type { Clock } from "../../kernel/clock.ts";
import type { NodeLink } from "../../kernel/nodes/node-link.ts";
import type { Undo } from "../../kernel/scope.ts";

/** Faults of the network, asked for each message. Each hook is optional; the defaults do no harm. */
export interface NetworkFaults {
  /** Number of times that the message arrives. Default 1; 0 loses it. A probe has no bytes. */
  copies?: (from: string, to: string, message: Uint8Array) => number;
  /** How long it takes, in milliseconds. Default 0. Messages between two runs stay in order. */
  delayMs?: (from: string, to: string) => number;
}

/** What the faults are asked for a probe and its answer. */
const PROBE = new Uint8Array(0);

interface Receiver {
  readonly run: string;
  readonly onMessage: (message: Uint8Array) => void;
  isPaused: boolean;
  /** What arrived while it was paused. */
  readonly waiting: (() => void)[];
}

/** A network in memory between the engines of a test. It has no timers of its own: time is that of the clock. */
export class MemoryNetwork {
  readonly faults: NetworkFaults = {};
  readonly #clock: Clock;
  readonly #later: (action: () => void) => void;
  readonly #receivers = new Map<string, Receiver>();
  /** When the latest message between two runs arrives, by both runs. */
  readonly #latest = new Map<string, number>();
  #isCut: (one: string, other: string) => boolean = () => false;

  /** `later` runs what has no delay: a microtask by default, a step of the scheduler in a simulation. */
  constructor(clock: Clock, later: (action: () => void) => void = queueMicrotask) {
    this.#clock = clock;
    this.#later = later;
  }

  /** Returns one engine's access to the network. */
  connect(): NodeLink {
    let self = "";
    return {
      listen: (run, onMessage) => {
        self = run;
        return this.#listen(run, onMessage);
      },
      send: (run, message) => this.#send(self, run, message),
      sendToAll: (message) => {
        for (const run of this.#receivers.keys()) if (run !== self) this.#send(self, run, message);
      },
      probe: (run, onAnswer) => this.#probe(self, run, onAnswer),
    };
  }

  /** Cuts all connections between runs for which `isCut` returns true. */
  partition(isCut: (one: string, other: string) => boolean): void {
    this.#isCut = isCut;
  }

  heal(): void {
    this.#isCut = () => false;
  }

  /** The run receives nothing until `resume`, then everything that arrived meanwhile. */
  pause(run: string): void {
    const receiver = this.#receivers.get(run);
    if (receiver !== undefined) receiver.isPaused = true;
  }

  resume(run: string): void {
    const receiver = this.#receivers.get(run);
    if (receiver === undefined) return;
    receiver.isPaused = false;
    for (const deliver of receiver.waiting.splice(0)) deliver();
  }

  /** The run ends without a word: it neither sends nor receives. */
  kill(run: string): void {
    this.#receivers.delete(run);
  }

  #listen(run: string, onMessage: Receiver["onMessage"]): Undo {
    const receiver = { run, onMessage, isPaused: false, waiting: [] };
    this.#receivers.set(run, receiver);
    return () => {
      if (this.#receivers.get(run) === receiver) this.#receivers.delete(run);
    };
  }

  #send(from: string, to: string, message: Uint8Array): void {
    if (!this.#receivers.has(from)) return;
    const copies = this.faults.copies?.(from, to, message) ?? 1;
    for (let copy = 0; copy < copies; copy++)
      this.#carry(from, to, () => this.#receivers.get(to)?.onMessage(message.slice()));
  }

  #probe(from: string, to: string, onAnswer: (isThere: boolean) => void): void {
    if (!this.#receivers.has(from)) return;
    const isLost = (one: string, other: string): boolean => this.faults.copies?.(one, other, PROBE) === 0;
    if (!this.#receivers.has(to)) this.#later(() => onAnswer(false));
    else if (!isLost(from, to) && !isLost(to, from))
      this.#carry(from, to, () => this.#carry(to, from, () => onAnswer(true)));
  }

  /** Calls `arrive` at the receiver, unless the network is cut or the receiver has ended by then. */
  #carry(from: string, to: string, arrive: () => void): void {
    const pair = `${from} ${to}`;
    const now = this.#clock.monotonic();
    const dueAt = Math.max(now + (this.faults.delayMs?.(from, to) ?? 0), this.#latest.get(pair) ?? 0);
    this.#latest.set(pair, dueAt);
    const deliver = (): void => {
      const receiver = this.#receivers.get(to);
      if (receiver === undefined || this.#isCut(from, to)) return;
      if (receiver.isPaused) receiver.waiting.push(arrive);
      else arrive();
    };
    if (dueAt > now) this.#clock.after(dueAt - now, deliver);
    else this.#later(deliver);
  }
}
