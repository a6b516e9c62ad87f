import type { MetricInfo } from "./series.ts";

function info(name: string, type: MetricInfo["type"], unit: string, description: string): MetricInfo {
  return { name, type, unit, description };
}

/** The engine's own metrics. The metrics of modules are defined where they are measured. */
export const CALLS = info("svc.calls", "counter", "1", "Calls that ended, by function and outcome");
export const CALLS_DEFERRED = info("svc.calls.deferred", "counter", "1", "Calls that were enqueued");
export const CALLS_REFUSED = info(
  "svc.calls.refused",
  "counter",
  "1",
  "Calls that were refused before they ran, by error code",
);
export const CALL_DURATION = info("svc.call.duration", "histogram", "ms", "Duration of calls, by function");
export const CALLS_IN_FLIGHT = info("svc.calls.in_flight", "gauge", "1", "Calls in flight");
export const MODULE_IN_FLIGHT = info(
  "svc.module.calls_in_flight",
  "gauge",
  "1",
  "Calls in flight in a module of the engine",
);
export const WORKERS = info("svc.workers", "gauge", "1", "Connected workers");
export const FUNCTIONS = info("svc.functions", "gauge", "1", "Functions of connected workers");
export const TRIGGERS = info("svc.triggers", "gauge", "1", "Trigger bindings");
export const STREAMS = info("svc.streams", "gauge", "1", "Streams with items or subscribers");
export const WORKER_SPAWNS = info("svc.workers.spawns", "counter", "1", "Workers that connected");
export const WORKER_DEATHS = info("svc.workers.deaths", "counter", "1", "Workers that disconnected");
export const WORKER_IN_FLIGHT = info("svc.worker.in_flight", "gauge", "1", "Calls in flight in a worker");
export const WORKER_CPU = info("svc.worker.cpu_percent", "gauge", "%", "CPU time of a worker; 100 is one core");
export const WORKER_RSS = info("svc.worker.rss_bytes", "gauge", "By", "Resident memory of a worker");
export const WORKER_HEAP = info("svc.worker.heap_used_bytes", "gauge", "By", "Used heap of a worker");
export const WORKER_LAG = info("svc.worker.event_loop_lag_ms", "gauge", "ms", "Event loop lag of a worker");
export const WORKER_UPTIME = info("svc.worker.uptime_seconds", "gauge", "s", "Uptime of a worker");
export const ENGINE_CPU = info("svc.engine.cpu_percent", "gauge", "%", "CPU time of the engine; 100 is one core");
export const ENGINE_RSS = info("svc.engine.rss_bytes", "gauge", "By", "Resident memory of the engine");
export const ENGINE_HEAP = info("svc.engine.heap_used_bytes", "gauge", "By", "Used JavaScript heap of the engine");
export const ENGINE_LAG = info(
  "svc.engine.event_loop_lag_ms",
  "gauge",
  "ms",
  "Maximum event loop lag of the engine within 5 s",
);
export const ENGINE_CONNECTIONS = info(
  "svc.engine.connections",
  "gauge",
  "1",
  "Connections of workers and other clients on the bridge",
);
export const ENGINE_UPTIME = info("svc.engine.uptime_seconds", "gauge", "s", "Uptime of the engine");
export const ENGINE_FDS = info("svc.engine.file_descriptors", "gauge", "1", "Open file descriptors of the engine");
export const TELEMETRY_DROPPED = info(
  "svc.telemetry.dropped",
  "counter",
  "1",
  "Telemetry that was dropped, by signal and reason",
);
export const TELEMETRY_SERIES = info("svc.telemetry.series", "gauge", "1", "Stored metric series");

/** Metrics of the engine's process. All other series without labels are sums over all callers. */
export const OF_PROCESS: ReadonlySet<string> = new Set(
  [ENGINE_CPU, ENGINE_RSS, ENGINE_HEAP, ENGINE_LAG, ENGINE_UPTIME, ENGINE_FDS].map(({ name }) => name),
);

/** Names of metrics that get a series sooner or later, independent of the modules that run. */
export const OWN_NAMES: readonly string[] = [
  CALLS,
  CALLS_DEFERRED,
  CALL_DURATION,
  CALLS_IN_FLIGHT,
  MODULE_IN_FLIGHT,
  WORKERS,
  FUNCTIONS,
  TRIGGERS,
  STREAMS,
  WORKER_SPAWNS,
  WORKER_DEATHS,
  WORKER_IN_FLIGHT,
  WORKER_CPU,
  WORKER_RSS,
  WORKER_HEAP,
  WORKER_LAG,
  WORKER_UPTIME,
  ENGINE_CPU,
  ENGINE_RSS,
  ENGINE_HEAP,
  ENGINE_LAG,
  ENGINE_CONNECTIONS,
  ENGINE_UPTIME,
  ENGINE_FDS,
  TELEMETRY_DROPPED,
  TELEMETRY_SERIES,
].map(({ name }) => name);
