import type { TraceHeaders } from "../telemetry/trace-context.ts";

/** The handler call or span that runs now. It is the parent of the calls and spans that start during it. */
export interface Active extends TraceHeaders {
  readonly activeCall: RunningCall | undefined;
  /** True while the call is in flight. */
  readonly running: boolean;
}

/** A handler's call. */
export interface RunningCall extends Active {
  readonly functionId: string;
  readonly invocationId: string;
}

/** Tracks the active call or span through asynchronous code, if the platform supports that. */
export interface AsyncContext {
  run<Args extends readonly unknown[], Result>(active: Active, body: (...args: Args) => Result, ...args: Args): Result;
  current(): Active | undefined;
  /**
   * Returns the trace headers for a new child of `active`. If an external tracer has an active span below `active`, its
   * headers are returned, otherwise those of `active`.
   */
  headers(active: Active | undefined): TraceHeaders | undefined;
}

export const noAsyncContext: AsyncContext = {
  run: (_active, body, ...args) => body(...args),
  current: () => undefined,
  headers: (active) => active,
};
