import { cpuTimeUs, residentBytes } from "../cpu.ts";
import { Latencies } from "../statistics.ts";
import type { Window, WindowSettings } from "./load.ts";

const DRAIN_TIMEOUT_MS = 15_000;
const MEMORY_SAMPLE_MS = 50;
/** A window with fewer operations per slot than this is extended by its length, up to MAX_EXTENSIONS times. */
const MIN_OPERATIONS_PER_SLOT = 1;
const MAX_EXTENSIONS = 10;

type Phase = "warming" | "measuring" | "draining" | "done";

/**
 * Keeps a fixed number of operations in flight: each result starts the next operation of its slot. Measures one window
 * and then waits for the operations in flight.
 */
export class ClosedLoop {
  /** Settles when the window has ended and nothing is in flight, or on an error. */
  readonly window: Promise<Window>;
  readonly #settings: WindowSettings;
  readonly #send: (slot: number) => void;
  readonly #sentAtMs: Float64Array;
  readonly #latencies = new Latencies();
  #phase: Phase = "warming";
  #inFlight: number;
  #operations = 0;
  #result: Window | undefined;
  #timers: NodeJS.Timeout[] = [];
  #resolve!: (window: Window) => void;
  #reject!: (error: Error) => void;

  /** `send` starts the next operation of a slot (0 to `concurrency` - 1). */
  constructor(settings: WindowSettings, concurrency: number, send: (slot: number) => void) {
    this.#settings = settings;
    this.#send = send;
    this.#sentAtMs = new Float64Array(concurrency);
    this.#inFlight = concurrency;
    this.window = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** Starts one operation in every slot. */
  start(): void {
    this.#later(this.#settings.warmUpMs, () => this.#measure());
    for (let slot = 0; slot < this.#sentAtMs.length; slot++) this.#next(slot);
  }

  /** Called when an operation has its result. */
  answered(slot: number): void {
    if (this.#phase === "measuring") {
      this.#operations++;
      this.#latencies.add((performance.now() - (this.#sentAtMs[slot] as number)) * 1000);
    }
    if (this.#phase !== "draining") {
      this.#next(slot);
      return;
    }
    this.#inFlight--;
    if (this.#inFlight === 0) this.#finish();
  }

  /** Ends the window with an error. */
  fail(error: Error): void {
    if (this.#phase === "done") return;
    this.#end();
    this.#reject(error);
  }

  #next(slot: number): void {
    this.#sentAtMs[slot] = performance.now();
    this.#send(slot);
  }

  #measure(): void {
    const { observe, measureMs } = this.#settings;
    const first = observe[0];
    let peakResidentBytes = 0;
    const sampleMemory = (): void => {
      if (first !== undefined) peakResidentBytes = Math.max(peakResidentBytes, residentBytes(first));
    };
    const sampling = setInterval(() => this.#guard(sampleMemory), MEMORY_SAMPLE_MS);
    this.#timers.push(sampling);
    const cpuBeforeUs = observe.map(cpuTimeUs);
    const ownBefore = process.cpuUsage();
    const startMs = performance.now();
    this.#phase = "measuring";
    let extensions = 0;
    const end = (): void => {
      if (this.#operations < this.#sentAtMs.length * MIN_OPERATIONS_PER_SLOT && extensions++ < MAX_EXTENSIONS) {
        this.#later(measureMs, end);
        return;
      }
      const elapsedMs = performance.now() - startMs;
      const cpuUs = observe.map((pid, index) => cpuTimeUs(pid) - (cpuBeforeUs[index] as number));
      const own = process.cpuUsage(ownBefore);
      sampleMemory();
      clearInterval(sampling);
      this.#result = {
        operations: this.#operations,
        elapsedMs,
        ...this.#latencies.summary(),
        cpuUs,
        ownCpuUs: own.user + own.system,
        peakResidentBytes,
      };
      this.#phase = "draining";
      this.#later(DRAIN_TIMEOUT_MS, () =>
        this.fail(new Error(`${this.#inFlight} operations were not answered within ${DRAIN_TIMEOUT_MS} ms`)),
      );
    };
    this.#later(measureMs, end);
  }

  #finish(): void {
    const window = this.#result as Window;
    if (window.operations === 0) {
      this.fail(new Error("not one operation was answered within the window"));
      return;
    }
    this.#end();
    this.#resolve(window);
  }

  #end(): void {
    this.#phase = "done";
    for (const timer of this.#timers) clearTimeout(timer);
  }

  #later(delayMs: number, action: () => void): void {
    this.#timers.push(setTimeout(() => this.#guard(action), delayMs));
  }

  #guard(action: () => void): void {
    try {
      action();
    } catch (error) {
      this.fail(error as Error);
    }
  }
}
