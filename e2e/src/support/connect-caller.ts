import { connect, createLogger, type Worker } from "@svc-runtime/sdk";

/** Connects a worker that only makes calls. It logs nothing and reconnects soon, because these tests stop the engine. */
export function connectCaller(url: string): Worker {
  const logger = createLogger({ level: "silent", write: () => {} });
  return connect(url, {
    name: "caller",
    handleSignals: false,
    logger,
    reconnect: { initialDelayMs: 100, maxDelayMs: 500 },
  });
}
