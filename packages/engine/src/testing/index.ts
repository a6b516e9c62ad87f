export { bindTrigger } from "./bind-trigger.ts";
export { Collected } from "./collected.ts";
export { type InMemoryEngine, type InMemoryEngineOptions, type InMemoryWorker, inMemoryEngine } from "./in-memory-engine.ts";
export { type ManualClock, manualClock } from "./manual-clock.ts";
export { type RecordedSpan, recordedSpans } from "./recorded-spans.ts";
export { accessTo } from "./restricted.ts";
export type { StreamSocket, StreamSocketOptions } from "./stream-socket.ts";
