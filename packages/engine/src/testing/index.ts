export { type InMemoryEngine, type InMemoryEngineOptions, type InMemoryWorker, inMemoryEngine } from "./in-memory-engine.ts";
export { type ManualClock, manualClock } from "./manual-clock.ts";
export type { StreamSocket, StreamSocketOptions } from "./stream-socket.ts";
