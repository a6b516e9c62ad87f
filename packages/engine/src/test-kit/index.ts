// For users' tests: an engine in their process, and a clock that they control.
export type { LogRecord } from "../kernel/logger.ts";
export { type ManualClock, manualClock } from "./manual-clock.ts";
export { startTestEngine, type TestEngine, type TestEngineOptions } from "./test-engine.ts";
