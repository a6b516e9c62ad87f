import type { TraceHeaders } from "../telemetry/trace-context.ts";

/** The handler call or span that runs now. It is the parent of the calls and spans that start during it. */
export interface Active extends TraceHeaders {
  readonly activeCall: RunningCall | undefined;
  /** Whether its call is still in flight. */
  readonly running: boolean;
}

/** A handler's call. */
export interface RunningCall extends Active {
  readonly functionId: string;
  readonly invocationId: string;
}

/** Passes the active call or span through asynchronous code, where the platform supports it. */
export interface AsyncContext {
  run<Args extends readonly unknown[], Result>(active: Active, body: (...args: Args) => Result, ...args: Args): Result;
  current(): Active | undefined;
  /** Trace context for a new child of `active`: that of `active`, or that of an external tracer's span below it. */
  headers(active: Active | undefined): TraceHeaders | undefined;
}

export const noAsyncContext: AsyncContext = {
  run: (_active, body, ...args) => body(...args),
  current: () => undefined,
  headers: (active) => active,
};
