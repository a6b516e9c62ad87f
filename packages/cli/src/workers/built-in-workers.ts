/** A worker that ships with the engine and is added by name. */
export interface BuiltInWorker {
  readonly name: string;
  readonly summary: string;
  /** Config that is written into the file. It contains the defaults, so that users see what they can change. */
  readonly config: Readonly<Record<string, unknown>>;
  /** Comment above the entry in the config file. */
  readonly comment: string;
}

export const builtInWorkers: readonly BuiltInWorker[] = [
  {
    name: "svc-state",
    summary: "key-value store that every function can use",
    config: { adapter: { name: "file_based" } },
    comment:
      "Key-value store: state::get, state::set, ... file_based stores it on disk in .svc/data, in_memory loses it when the engine stops.",
  },
  {
    name: "svc-stream",
    summary: "streams of items, live in the browser",
    config: { port: 3112, host: "127.0.0.1", adapter: { name: "file_based" } },
    comment:
      "Streams: stream::set, stream::get, ... WebSocket subscribers receive each change. port and host are those of the real-time listener.",
  },
  {
    name: "svc-queue",
    summary: "durable jobs: retries, delays, dead letters, durable topics",
    config: {
      adapter: { name: "file_based" },
      queue_configs: { default: { type: "standard", concurrency: 10, max_attempts: 3, backoff_ms: 1_000 } },
    },
    comment:
      "Durable jobs: queue::enqueue, svc::durable::publish, and triggers of type queue or durable:subscriber. Add further queues beside default, each with its own settings.",
  },
  {
    name: "svc-event",
    summary: "publish events to all functions subscribed to a topic",
    config: { max_waiting_events: 1000 },
    comment:
      "Events: publish, event::emit, and triggers of type event or subscribe. max_waiting_events limits the events that wait for a slow function.",
  },
  {
    name: "svc-http",
    summary: "serves functions as HTTP routes",
    config: { port: 3111, host: "127.0.0.1" },
    comment: "HTTP routes, defined by triggers of type http. port and host are those of the engine's HTTP listener.",
  },
  {
    name: "svc-cron",
    summary: "runs functions on a schedule",
    config: { max_running: 1_000 },
    comment:
      "Scheduled functions, defined by triggers of type cron. max_running: maximum concurrent runs of all triggers; further runs wait.",
  },
  {
    name: "svc-exec",
    summary: "runs commands beside the engine and restarts them",
    config: { commands: [] },
    comment:
      "Commands that run beside the engine and are restarted like workers, e.g. commands: [{name: site, command: npm run dev, cwd: ./site}]",
  },
];

/** Finds a built-in worker by name, with or without the prefix `svc-`. */
export function findBuiltIn(name: string): BuiltInWorker | undefined {
  return builtInWorkers.find((worker) => worker.name === name || worker.name === `svc-${name}`);
}
