/** Duration of one measuring window, and the processes to observe. */
export interface WindowSettings {
  /** Load before counting starts, in milliseconds. */
  readonly warmUpMs: number;
  /** Duration of counting, in milliseconds. */
  readonly measureMs: number;
  /** Ids of the processes whose CPU time is measured. The memory of the first process is measured too. */
  readonly observe: readonly number[];
}

export interface CallLoad extends WindowSettings {
  readonly kind: "calls";
  /** Port of the engine's worker socket. */
  readonly port: number;
  /** Port of the engine to which the callees connect. Default: the engine of the callers. */
  readonly calleePort?: number | undefined;
  /** `echo` is a function of the generator's callees. The other functions belong to the engine's state module. */
  readonly target: "echo" | "state::set" | "state::get" | "state::update" | "state::entries";
  readonly callers: number;
  /** Number of callee connections. 0 for the state targets. */
  readonly callees: number;
  /** Calls in flight, distributed over the callers. */
  readonly concurrency: number;
  readonly payloadBytes: number;
}

/** Frames of a call to an echo server. */
export interface EchoLoad extends WindowSettings {
  readonly kind: "echo";
  readonly port: number;
  readonly concurrency: number;
  readonly payloadBytes: number;
}

/** The bytes of a call and its result over two connections joined by a relay, one call in flight. */
export interface RelayLoad extends WindowSettings {
  readonly kind: "relay";
  readonly port: number;
  readonly payloadBytes: number;
}

export interface HttpLoad extends WindowSettings {
  readonly kind: "http";
  readonly port: number;
  /** Keep-alive connections with one request in flight each. */
  readonly concurrency: number;
  /** Set if requests become calls. Then the generator registers this many routes and answers the calls. */
  readonly calls?: { readonly bridgePort: number; readonly routes: number } | undefined;
}

/**
 * A fixed number of bytes from one WebSocket to another. The window ends when the last byte has arrived. An operation
 * is 1 MiB.
 */
export interface StreamLoad extends WindowSettings {
  readonly kind: "stream";
  /** Through a channel of the engine, or through a server that joins two sockets. */
  readonly via: "channel" | "relay";
  readonly port: number;
  readonly totalBytes: number;
  readonly itemBytes: number;
}

/**
 * Events from one publisher to many WebSocket clients. An operation is an event. Latencies are per client and event.
 */
export interface FanOutLoad extends WindowSettings {
  readonly kind: "fan-out";
  /** Through a stream of the engine, or through a broadcast server. */
  readonly via: "stream" | "broadcast";
  /** Address to which the clients connect. */
  readonly port: number;
  /** Address to which a worker publishes. Not used by a broadcast. */
  readonly bridgePort: number;
  readonly clients: number;
  readonly payloadBytes: number;
  /** Milliseconds between events. 0: the next event is sent when all clients have received the previous one. */
  readonly intervalMs: number;
  /** Whether an additional client of the extended protocol has stopped reading, with its outbound buffer full. */
  readonly withStalledClient: boolean;
}

/** Events of svc-event from one publisher to workers. Operations are events that reached every subscriber. */
export interface EventFanOutLoad extends WindowSettings {
  readonly kind: "event-fan-out";
  readonly port: number;
  /** Number of subscribers, each with its own connection, function and trigger. */
  readonly subscribers: number;
  readonly payloadBytes: number;
}

/** Jobs of svc-queue from one connection to a worker on another. Operations are accepted and executed jobs. */
export interface JobLoad extends WindowSettings {
  readonly kind: "jobs";
  readonly port: number;
  readonly queue: string;
  /** Jobs in flight. */
  readonly concurrency: number;
  readonly payloadBytes: number;
}

export type Load = CallLoad | EchoLoad | RelayLoad | HttpLoad | StreamLoad | FanOutLoad | EventFanOutLoad | JobLoad;

/** Opens connections that each register one function and then stay idle, until `close-idle`. */
export interface OpenIdle {
  readonly kind: "open-idle";
  readonly port: number;
  readonly connections: number;
}
export interface CloseIdle {
  readonly kind: "close-idle";
}

export type GeneratorTask = Load | OpenIdle | CloseIdle;

/** Results of one window. */
export interface Window {
  readonly operations: number;
  readonly elapsedMs: number;
  readonly p50Us: number;
  readonly p99Us: number;
  /** CPU time of each observed process within the window, in microseconds, in the order of `observe`. */
  readonly cpuUs: readonly number[];
  /** CPU time of the load's process, in microseconds. */
  readonly ownCpuUs: number;
  /** Maximum resident memory of the first observed process. */
  readonly peakResidentBytes: number;
}

export function operationsPerSecond(window: Window): number {
  return (window.operations / window.elapsedMs) * 1000;
}

/** Returns the CPU time of all observed processes per operation, in microseconds. */
export function cpuUsPerOperation(window: Window): number {
  return window.cpuUs.reduce((sum, us) => sum + us, 0) / window.operations;
}

export interface TaskRequest {
  readonly id: number;
  readonly task: GeneratorTask;
}
export type TaskReply =
  | { readonly id: number; readonly window: Window | undefined }
  | { readonly id: number; readonly error: string };
