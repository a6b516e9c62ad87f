import { cpuTimeUs, residentBytes } from "../cpu.ts";
import { pause } from "../ports.ts";
import { Latencies } from "../statistics.ts";
import { WebSocketClient } from "../websocket-client.ts";
import type { FanOutLoad, Window } from "./load.ts";
import { connectPublisher, GROUP, type Publisher, STREAM } from "./publisher.ts";
import { stallClient } from "./stalled-client.ts";

const OPEN_BATCH = 50;
const OPEN_TIMEOUT_MS = 30_000;
const START_TIMEOUT_MS = 10_000;
const RETRY_MS = 20;
const DRAIN_TIMEOUT_MS = 15_000;

/** Publishes events and measures when each client receives each of them. */
export async function runFanOut(load: FanOutLoad): Promise<Window> {
  const clients: WebSocketClient[] = [];
  let publisher: Publisher | undefined;
  const fanOut = new FanOut(load, () => publisher?.publish(GROUP, load.payloadBytes));
  try {
    publisher = await connectPublisher(load, (error) => fanOut.fail(error));
    clients.push(await openFirst(load, fanOut));
    while (clients.length < load.clients) {
      const count = Math.min(OPEN_BATCH, load.clients - clients.length);
      const first = clients.length;
      clients.push(
        ...(await Promise.all(Array.from({ length: count }, (_, index) => openClient(load, first + index, fanOut)))),
      );
    }
    await fanOut.ready();
    if (load.withStalledClient) clients.push(await stallClient(load.port, publisher));
    fanOut.start();
    return await fanOut.window;
  } finally {
    fanOut.end();
    publisher?.close();
    for (const client of clients) client.destroy();
  }
}

/**
 * Opens the first client. Tries again after a 503, because an engine responds so until all its modules have started.
 */
async function openFirst(load: FanOutLoad, fanOut: FanOut): Promise<WebSocketClient> {
  const giveUpMs = performance.now() + START_TIMEOUT_MS;
  for (;;) {
    try {
      return await openClient(load, 0, fanOut);
    } catch (error) {
      if (!(error as Error).message.includes(" 503 ") || performance.now() > giveUpMs) throw error;
      await pause(RETRY_MS);
    }
  }
}

function openClient(load: FanOutLoad, index: number, fanOut: FanOut): Promise<WebSocketClient> {
  return WebSocketClient.open(load.port, load.via === "stream" ? `/stream/${STREAM}/${GROUP}` : "/", {
    onMessage: () => fanOut.received(index),
    onReadEnd() {},
    onClosed: (reason) => fanOut.fail(new Error(`client ${index}: ${reason}`)),
  });
}

type Phase = "opening" | "warming" | "measuring" | "draining" | "over";

/** The events of one window. Each client receives them in order, so an event is identified by counting. */
class FanOut {
  readonly window: Promise<Window>;
  readonly #load: FanOutLoad;
  readonly #publish: () => void;
  readonly #latencies = new Latencies();
  /** Publish time of each event, by its number. */
  readonly #sentAtMs: number[] = [];
  /**
   * Number of events that each client has received. -1 until the client has received its sync, which confirms the join.
   */
  readonly #counts: Int32Array;
  /** Number of clients that have received the awaited message: their sync, or the latest event. */
  #complete = 0;
  #phase: Phase = "opening";
  #measuredFrom = 0;
  #timers: NodeJS.Timeout[] = [];
  #onReady: (() => void) | undefined;
  #finish: (() => void) | undefined;
  #resolve!: (window: Window) => void;
  #reject!: (error: Error) => void;

  constructor(load: FanOutLoad, publish: () => void) {
    this.#load = load;
    this.#publish = publish;
    this.#counts = new Int32Array(load.clients).fill(load.via === "stream" ? -1 : 0);
    this.#complete = load.via === "stream" ? 0 : load.clients;
    this.window = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // Prevents an unhandled rejection while nobody waits for `window`. While the clients are opened, `ready` reports a
    // failure.
    this.window.catch(() => {});
  }

  /** Resolves when every client has its sync. */
  ready(): Promise<void> {
    if (this.#complete === this.#load.clients) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#onReady = resolve;
      this.#later(OPEN_TIMEOUT_MS, () =>
        reject(new Error(`${this.#complete} of ${this.#load.clients} clients had joined after ${OPEN_TIMEOUT_MS} ms`)),
      );
    });
  }

  start(): void {
    this.#clearTimers();
    this.#phase = "warming";
    this.#later(this.#load.warmUpMs, () => this.#measure());
    if (this.#load.intervalMs === 0) this.#next();
    else this.#timers.push(setInterval(() => this.#next(), this.#load.intervalMs));
  }

  received(client: number): void {
    const number = this.#counts[client] as number;
    this.#counts[client] = number + 1;
    if (number === -1) {
      this.#complete += 1;
      if (this.#complete === this.#load.clients) this.#onReady?.();
      return;
    }
    if (this.#phase !== "warming" && number >= this.#measuredFrom)
      this.#latencies.add((performance.now() - (this.#sentAtMs[number] as number)) * 1000);
    if (number !== this.#sentAtMs.length - 1) return;
    this.#complete += 1;
    if (this.#complete < this.#load.clients) return;
    if (this.#phase === "draining") this.#finish?.();
    else if (this.#load.intervalMs === 0) this.#next();
  }

  fail(error: Error): void {
    if (this.#phase === "over") return;
    this.end();
    this.#reject(error);
  }

  end(): void {
    this.#phase = "over";
    this.#clearTimers();
  }

  #next(): void {
    if (this.#phase === "draining" || this.#phase === "over") return;
    this.#complete = 0;
    this.#sentAtMs.push(performance.now());
    this.#publish();
  }

  #measure(): void {
    const { observe, measureMs } = this.#load;
    const cpuBeforeUs = observe.map(cpuTimeUs);
    const ownBefore = process.cpuUsage();
    const startMs = performance.now();
    this.#phase = "measuring";
    this.#measuredFrom = this.#sentAtMs.length;
    this.#later(measureMs, () => {
      const elapsedMs = performance.now() - startMs;
      const operations = this.#sentAtMs.length - this.#measuredFrom;
      const cpuUs = observe.map((pid, index) => cpuTimeUs(pid) - (cpuBeforeUs[index] as number));
      const own = process.cpuUsage(ownBefore);
      const first = observe[0];
      const peakResidentBytes = first === undefined ? 0 : residentBytes(first);
      this.#phase = "draining";
      this.#later(DRAIN_TIMEOUT_MS, () =>
        this.fail(new Error(`the last event had not arrived everywhere after ${DRAIN_TIMEOUT_MS} ms`)),
      );
      this.#finish = () => {
        this.end();
        this.#resolve({
          operations,
          elapsedMs,
          ...this.#latencies.summary(),
          cpuUs,
          ownCpuUs: own.user + own.system,
          peakResidentBytes,
        });
      };
      if (this.#complete === this.#load.clients) this.#finish();
    });
  }

  #later(delayMs: number, action: () => void): void {
    this.#timers.push(setTimeout(action, delayMs));
  }

  #clearTimers(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers = [];
  }
}
