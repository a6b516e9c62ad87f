/** The store of items without an engine around it, for programs that measure or repair it. */

export { systemClock } from "../kernel/clock.ts";
export { silentLogger } from "../kernel/logger.ts";
export { openFileItems } from "./adapters/file.ts";
export type { ItemStore, OneOfMany } from "./item-store.ts";
