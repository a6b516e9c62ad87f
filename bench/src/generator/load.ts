/** How long one measuring window runs, and which processes it watches. */
export interface WindowSettings {
  /** Load runs this long before counting starts, in milliseconds. */
  readonly warmUpMs: number;
  /** Counting runs this long, in milliseconds. */
  readonly measureMs: number;
  /** Process ids whose CPU time is taken; the memory of the first is watched. */
  readonly observe: readonly number[];
}

export interface CallLoad extends WindowSettings {
  readonly kind: "calls";
  /** Port of the engine's worker socket. */
  readonly port: number;
  /** `echo` goes through the engine to a callee of the generator; the others are answered by the engine's state module. */
  readonly target: "echo" | "state::set" | "state::get" | "state::update" | "state::entries";
  readonly callers: number;
  /** Connections that answer; 0 for the state targets. */
  readonly callees: number;
  /** Calls in flight, spread over the callers. */
  readonly concurrency: number;
  readonly payloadBytes: number;
}

/** Frames of a call, but the server sends them straight back. */
export interface EchoLoad extends WindowSettings {
  readonly kind: "echo";
  readonly port: number;
  readonly concurrency: number;
  readonly payloadBytes: number;
}

/** The bytes of a call and its answer over two connections that a relay joins; one in flight. */
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
  /** Set when the requests become calls: the generator then answers them, and binds this many routes first. */
  readonly calls?: { readonly bridgePort: number; readonly routes: number } | undefined;
}

/** A fixed number of bytes from one WebSocket to another; the window ends when the last one has arrived. Operations are MiB. */
export interface StreamLoad extends WindowSettings {
  readonly kind: "stream";
  /** Through a channel of the engine, or through a server that joins two sockets. */
  readonly via: "channel" | "relay";
  readonly port: number;
  readonly totalBytes: number;
  readonly itemBytes: number;
}

/** Events from one publisher to many WebSocket clients. Operations are events; latencies are those of each client's each event. */
export interface FanOutLoad extends WindowSettings {
  readonly kind: "fan-out";
  /** Through a stream of the engine, or through a server that sends what one says to all. */
  readonly via: "stream" | "broadcast";
  /** Where the clients connect. */
  readonly port: number;
  /** Where a worker publishes; not used by a broadcast. */
  readonly bridgePort: number;
  readonly clients: number;
  readonly payloadBytes: number;
  /** One event each so many milliseconds; 0: the next one when all clients have the one before. */
  readonly intervalMs: number;
  /** Another client, of the extended protocol, that has stopped reading and has as much waiting for it as it may. */
  readonly withStalledClient: boolean;
}

/** Events of svc-event from one publisher to workers. Operations are events that every subscriber was called with. */
export interface EventFanOutLoad extends WindowSettings {
  readonly kind: "event-fan-out";
  readonly port: number;
  /** Each with a connection, a function and a trigger of its own. */
  readonly subscribers: number;
  readonly payloadBytes: number;
}

/** Jobs of svc-queue from one connection to a worker on another. Operations are jobs that were accepted and run. */
export interface JobLoad extends WindowSettings {
  readonly kind: "jobs";
  readonly port: number;
  readonly queue: string;
  /** Jobs under way. */
  readonly concurrency: number;
  readonly payloadBytes: number;
}

export type Load = CallLoad | EchoLoad | RelayLoad | HttpLoad | StreamLoad | FanOutLoad | EventFanOutLoad | JobLoad;

/** Opens connections that each register one function and then stay silent, until `close-idle`. */
export interface OpenIdle {
  readonly kind: "open-idle";
  readonly port: number;
  readonly connections: number;
}
export interface CloseIdle {
  readonly kind: "close-idle";
}

export type GeneratorTask = Load | OpenIdle | CloseIdle;

/** What one window saw. */
export interface Window {
  readonly operations: number;
  readonly elapsedMs: number;
  readonly p50Us: number;
  readonly p99Us: number;
  /** CPU time of each observed process within the window, in microseconds, in the order of `observe`. */
  readonly cpuUs: readonly number[];
  /** Of the load's own process, in microseconds. */
  readonly ownCpuUs: number;
  /** Largest resident memory seen of the first observed process. */
  readonly peakResidentBytes: number;
}

export function operationsPerSecond(window: Window): number {
  return (window.operations / window.elapsedMs) * 1000;
}

/** CPU time of all observed processes per operation, in microseconds. */
export function cpuUsPerOperation(window: Window): number {
  return window.cpuUs.reduce((sum, us) => sum + us, 0) / window.operations;
}

export interface TaskRequest {
  readonly id: number;
  readonly task: GeneratorTask;
}
export type TaskReply = { readonly id: number; readonly window: Window | undefined } | { readonly id: number; readonly error: string };
