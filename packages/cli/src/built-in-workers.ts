/** A worker that comes with the engine, added by its name. */
export interface BuiltInWorker {
  readonly name: string;
  readonly summary: string;
  /** What is written into the config file: the defaults, in plain sight, so that one sees what can be changed. */
  readonly config: Readonly<Record<string, unknown>>;
  /** Stands above the entry in the config file. */
  readonly comment: string;
}

export const builtInWorkers: readonly BuiltInWorker[] = [
  {
    name: "svc-state",
    summary: "key-value store that every function can use",
    config: { adapter: { name: "file_based" } },
    comment: "Key-value store: state::get, state::set, ... file_based keeps it on disk in .svc/data, in_memory forgets it when the engine stops.",
  },
  {
    name: "svc-stream",
    summary: "streams of items, live in the browser",
    config: { port: 3112, host: "127.0.0.1", adapter: { name: "file_based" } },
    comment:
      "Streams: stream::set, stream::get, ... and whoever has joined over WebSocket sees each change. port and host are those of the real-time listener.",
  },
  {
    name: "svc-queue",
    summary: "durable jobs: retries, delays, dead letters, durable topics",
    config: { adapter: { name: "file_based" }, queue_configs: { default: { type: "standard", concurrency: 10, max_attempts: 3, backoff_ms: 1_000 } } },
    comment:
      "Durable jobs: queue::enqueue, svc::durable::publish, and triggers of type queue or durable:subscriber. Further queues go beside default, each with its own settings.",
  },
  {
    name: "svc-event",
    summary: "events by topic, for every function that listens",
    config: { max_waiting_events: 1000 },
    comment: "Events: publish, event::emit, and triggers of type event or subscribe. max_waiting_events is for a function that does not keep up.",
  },
  {
    name: "svc-http",
    summary: "serves functions as HTTP routes",
    config: { port: 3111, host: "127.0.0.1" },
    comment: "HTTP routes, made by triggers of type http. port and host are those of the engine's HTTP listener.",
  },
  {
    name: "svc-cron",
    summary: "runs functions at set times",
    config: { max_running: 1_000 },
    comment: "Functions at set times, by triggers of type cron. max_running: runs at the same time, over all triggers; the others wait for their turn.",
  },
  {
    name: "svc-exec",
    summary: "keeps plain commands running beside the engine",
    config: { commands: [] },
    comment: "Plain commands beside the engine, kept running like workers, e.g. commands: [{name: site, command: npm run dev, cwd: ./site}]",
  },
];

/** By its name, with or without `svc-`. */
export function findBuiltIn(name: string): BuiltInWorker | undefined {
  return builtInWorkers.find((worker) => worker.name === name || worker.name === `svc-${name}`);
}
