export { type BackoffOptions, backoffMs } from "./backoff.ts";
export { CallError, type CallErrorOptions, type WireError } from "./call-error.ts";
export { channelPath } from "./channel-path.ts";
export { type ChannelRef, channelRefSchema } from "./channel-ref.ts";
export {
  type DecodeOptions,
  decodeByParsing,
  decodeFrame,
  decodeFrameBytes,
  encodeGuardedInvoke,
  encodeGuardedResult,
  encodePublishedInvoke,
  encodePublishedResult,
  type Frame,
  frameBytes,
  frameText,
  type InvokeFields,
  type ResultFields,
  type UndecodableFrame,
} from "./codec.ts";
export { maskConfig, maskConfigText } from "./config-mask.ts";
export { encodeMessage } from "./encode-message.ts";
export { ENGINE_PROOF_PATH, engineProofKey, engineProofText, PROOF_NONCE } from "./engine-proof.ts";
export { type ErrorCode, type ErrorCodeFacts, type Executed, errorCodes, factsOf, httpCodeOf } from "./error-codes.ts";
export { errorSummaries } from "./error-summaries.ts";
export { FEATURES, type Feature } from "./features.ts";
export {
  type FunctionId,
  functionIdSchema,
  type InvocationId,
  type TriggerId,
  type TriggerTypeId,
  triggerIdSchema,
  triggerTypeIdSchema,
  type WorkerId,
} from "./ids.ts";
export {
  closingQuote,
  elementTexts,
  findJsonFault,
  type JsonFault,
  memberTexts,
  nestsDeeperThan,
} from "./json-text.ts";
export {
  DEFAULT_TIMEOUT_MS,
  MAX_CLOCK_SKEW_MS,
  MAX_DEPTH,
  MAX_FRAME_BYTES,
  MAX_NAME_BYTES,
  MAX_PAYLOAD_DEPTH,
  MAX_TIMEOUT_MS,
  PUBLISHED_PYTHON_MAX_FRAME_BYTES,
} from "./limits.ts";
export {
  type Action,
  type Caller,
  type Job,
  type Message,
  type MessageOf,
  type MessageType,
  messageSchemas,
  type WorkerIntroduction,
  workerIntroductionSchema,
} from "./messages.ts";
export { nameProblem } from "./name-problem.ts";
export { didYouMean, nearestName } from "./nearest-name.ts";
export { Payload } from "./payload.ts";
export {
  isSecretName,
  MASK,
  maskJson,
  maskSecrets,
  maskText,
  SECRET_NAMES,
  SecretMask,
} from "./secrets.ts";
export { quoteWord } from "./shell-word.ts";
export { MAX_ADDRESSES, splitAddresses } from "./split-addresses.ts";
export { TOKEN_SUBPROTOCOL_PREFIX, tokenOfSubprotocols, tokenSubprotocols } from "./token-subprotocol.ts";
export { isUuid } from "./uuid.ts";
export { compileGlob, compileWildcards, fitsInOrder } from "./wildcards.ts";
