/** The item store without an engine, for benchmarks and repair tools. */

export { systemClock } from "../kernel/clock.ts";
export { silentLogger } from "../kernel/logger.ts";
export { openFileItems } from "./adapters/file.ts";
export type { BatchedWrite, ItemStore } from "./item-store.ts";
