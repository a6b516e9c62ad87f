import type { MetricInfo } from "./series.ts";

function info(name: string, type: MetricInfo["type"], unit: string, description: string): MetricInfo {
  return { name, type, unit, description };
}

/** The engine's own metrics. Those of modules come with their measurements. */
export const CALLS = info("svc.calls", "counter", "1", "Calls that ended, by function and outcome");
export const CALLS_DEFERRED = info("svc.calls.deferred", "counter", "1", "Calls that were put on a queue to be made later");
export const CALLS_REFUSED = info("svc.calls.refused", "counter", "1", "Calls that were refused before they ran, by the code of their error");
export const CALL_DURATION = info("svc.call.duration", "histogram", "ms", "How long calls took, by function");
export const CALLS_IN_FLIGHT = info("svc.calls.in_flight", "gauge", "1", "Calls that are under way");
export const MODULE_IN_FLIGHT = info("svc.module.calls_in_flight", "gauge", "1", "Calls that a module of the engine is running");
export const WORKERS = info("svc.workers", "gauge", "1", "Connected workers");
export const WORKER_SPAWNS = info("svc.workers.spawns", "counter", "1", "Workers that connected");
export const WORKER_DEATHS = info("svc.workers.deaths", "counter", "1", "Workers whose connection ended");
export const WORKER_IN_FLIGHT = info("svc.worker.in_flight", "gauge", "1", "Calls that a worker is running");
export const WORKER_CPU = info("svc.worker.cpu_percent", "gauge", "%", "Processor time of a worker; 100 is one core");
export const WORKER_RSS = info("svc.worker.rss_bytes", "gauge", "By", "Resident memory of a worker");
export const WORKER_HEAP = info("svc.worker.heap_used_bytes", "gauge", "By", "Heap that a worker uses");
export const WORKER_LAG = info("svc.worker.event_loop_lag_ms", "gauge", "ms", "How late a worker's event loop runs");
export const WORKER_UPTIME = info("svc.worker.uptime_seconds", "gauge", "s", "How long a worker has been running");
export const ENGINE_CPU = info("svc.engine.cpu_percent", "gauge", "%", "Processor time of the engine; 100 is one core");
export const ENGINE_RSS = info("svc.engine.rss_bytes", "gauge", "By", "Resident memory of the engine");
export const ENGINE_HEAP = info("svc.engine.heap_used_bytes", "gauge", "By", "JavaScript heap that the engine uses");
export const ENGINE_LAG = info("svc.engine.event_loop_lag_ms", "gauge", "ms", "How late the engine's event loop ran, at worst, in 5 s");
export const ENGINE_CONNECTIONS = info("svc.engine.connections", "gauge", "1", "Connections of workers and other clients on the bridge");
export const ENGINE_UPTIME = info("svc.engine.uptime_seconds", "gauge", "s", "How long the engine has been running");
export const ENGINE_FDS = info("svc.engine.file_descriptors", "gauge", "1", "File descriptors that the engine has open");
export const TELEMETRY_DROPPED = info("svc.telemetry.dropped", "counter", "1", "Telemetry that was dropped, by signal and reason");
export const TELEMETRY_SERIES = info("svc.telemetry.series", "gauge", "1", "Series of metrics that are kept");

/** Figures of the engine's process. Other series without labels are sums over everybody's calls, workers and data. */
export const OF_PROCESS: ReadonlySet<string> = new Set([ENGINE_CPU, ENGINE_RSS, ENGINE_HEAP, ENGINE_LAG, ENGINE_UPTIME, ENGINE_FDS].map(({ name }) => name));

/** There are series of these by and by, whatever modules run. */
export const OWN_NAMES: readonly string[] = [
  CALLS,
  CALLS_DEFERRED,
  CALL_DURATION,
  CALLS_IN_FLIGHT,
  MODULE_IN_FLIGHT,
  WORKERS,
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
