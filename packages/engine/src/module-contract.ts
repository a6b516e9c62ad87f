/**
 * The part of the engine that modules in other packages may use: the module contract, and the code that modules share.
 * `@svc-runtime/engine/store` has the database.
 */

export { type ProviderOf, restrictedProviderOf, takenRefusal } from "./deliveries/function-owner.ts";
export { type LineSource, linesOf } from "./items/line-reader.ts";
export * from "./kernel/clock.ts";
export * from "./kernel/directory.ts";
export * from "./kernel/health-contract.ts";
export * from "./kernel/lazy-schema.ts";
export * from "./kernel/logger.ts";
export * from "./kernel/module.ts";
export * from "./kernel/scope.ts";
export * from "./kernel/store-contract.ts";
export * from "./kernel/stream-contract.ts";
export * from "./kernel/telemetry-contract.ts";
export { type ProcessFigures, readProcess } from "./local-workers/process-figures.ts";
export { orAborted, pause } from "./outbound-http/abortable.ts";
export { Exchanger } from "./outbound-http/exchange.ts";
export { coalesced, type Resolve, resolveChecked, systemResolve } from "./outbound-http/resolve.ts";
export { checkUrl } from "./outbound-http/url-policy.ts";
