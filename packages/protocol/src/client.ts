// The exports for clients. Web pages load this file, so it imports neither the schema library nor code for the engine.

export { type BackoffOptions, backoffMs } from "./backoff.ts";
export { CallError, type CallErrorOptions, type WireError } from "./call-error.ts";
export { channelPath } from "./channel-path.ts";
export type { ChannelRef } from "./channel-ref.ts";
export { encodeMessage } from "./encode-message.ts";
export type { ErrorCode } from "./error-codes.ts";
export { FEATURES } from "./features.ts";
export type { FunctionId, InvocationId, TriggerId, TriggerTypeId } from "./ids.ts";
export { DEFAULT_TIMEOUT_MS, MAX_DEPTH, MAX_FRAME_BYTES, MAX_TIMEOUT_MS } from "./limits.ts";
export type { Caller, Job, MessageOf, WorkerIntroduction } from "./messages.ts";
export { nameProblem } from "./name-problem.ts";
export { didYouMean } from "./nearest-name.ts";
export { MASK } from "./secret-names.ts";
export { MAX_ADDRESSES, splitAddresses } from "./split-addresses.ts";
export { tokenSubprotocols } from "./token-subprotocol.ts";
export { isUuid } from "./uuid.ts";
