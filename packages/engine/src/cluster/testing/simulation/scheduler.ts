import { createHash } from "node:crypto";
import { type Due, DueQueue } from "../../../collections/due-queue.ts";
import { processIsIdle } from "./controlled-globals.ts";
import type { Random } from "./random.ts";

/** Something that runs, may stand still, and may end at any time: an engine. */
export interface SimulatedProcess {
  readonly name: string;
  state: "running" | "paused" | "dead";
}

interface Event extends Due {
  readonly process: SimulatedProcess | undefined;
  readonly label: string;
  readonly action: () => void;
}

/** Events of one millisecond happen in a random order. */
const TIE_MS = 0.001;

/**
 * Decides the order of everything that is asynchronous between the parts of a simulation, and their time. Each event
 * runs until the process has nothing more to do, then the next one follows.
 */
export class Scheduler {
  readonly random: Random;
  /** Time since the start of the simulation, in milliseconds. */
  now = 0;
  /** Number of events so far. */
  steps = 0;
  readonly #events = new DueQueue<Event>();
  /** Events that came for a paused process, in order. */
  #held = new Set<Event>();
  readonly #hash = createHash("sha256");
  readonly #onLine: ((line: string) => void) | undefined;

  /** `onLine` is called with each line of the trace. */
  constructor(random: Random, onLine?: (line: string) => void) {
    this.random = random;
    this.#onLine = onLine;
  }

  /** Runs `action` after `ms` milliseconds, unless the process is dead then. Returns a function that cancels it. */
  after(ms: number, process: SimulatedProcess | undefined, label: string, action: () => void): () => void {
    const event: Event = { dueAt: 0, place: -1, process, label, action };
    this.#events.set(event, this.now + Math.max(0, ms) + this.random.next() * TIE_MS);
    return () => {
      this.#events.delete(event);
      this.#held.delete(event);
    };
  }

  /** Resolves after a random time of about `meanMs`; never if the process is dead then. */
  hop(process: SimulatedProcess | undefined, label: string, meanMs = 3): Promise<void> {
    return new Promise((resolve) => this.after(this.latency(meanMs), process, label, resolve));
  }

  /** Returns a random time: mostly short, rarely 20 times as long. */
  latency(meanMs: number): number {
    return this.random.next() * 2 * meanMs * (this.random.chance(0.03) ? 20 : 1);
  }

  /** Lets a paused process go on. What came meanwhile happens at once. */
  resume(process: SimulatedProcess): void {
    process.state = "running";
    for (const event of this.#held) {
      if (event.process !== process) continue;
      this.#held.delete(event);
      this.#events.set(event, this.now + this.random.next() * TIE_MS);
    }
  }

  /** Adds a line to the trace. */
  note(line: string): void {
    const entry = `${this.now.toFixed(3)} ${line}`;
    this.#hash.update(`${entry}\n`);
    this.#onLine?.(entry);
  }

  /** Runs events until the time, or until the condition holds. Resolves with whether it does. */
  async runUntil(until: number, condition: () => boolean = () => false): Promise<boolean> {
    await processIsIdle();
    while (!condition()) {
      const event = this.#events.first;
      if (event === undefined || event.dueAt > until) {
        this.now = until;
        return condition();
      }
      this.#events.delete(event);
      if (event.process?.state === "dead") continue;
      this.now = Math.max(this.now, event.dueAt);
      if (event.process?.state === "paused") {
        this.#held.add(event);
        continue;
      }
      this.steps += 1;
      this.note(`${event.process?.name ?? "-"} ${event.label}`);
      event.action();
      await processIsIdle();
    }
    return true;
  }

  /** Returns a hash of everything that happened so far. */
  digest(): string {
    return this.#hash.copy().digest("hex");
  }
}
