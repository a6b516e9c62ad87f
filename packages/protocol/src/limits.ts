/**
 * Maximum frame size in both directions, in bytes. The engine closes a connection that sends a larger frame, with code
 * 1009. The SDKs do not send larger frames but report an error.
 */
export const MAX_FRAME_BYTES = 16 * 1024 * 1024;
/** Maximum frame size of the published Python client, in bytes. It would disconnect on a larger frame. */
export const PUBLISHED_PYTHON_MAX_FRAME_BYTES = 1024 * 1024;
/** Maximum timeout of a call, in milliseconds: one day. */
export const MAX_TIMEOUT_MS = 24 * 60 * 60 * 1000;
/** Default timeout of a call, in milliseconds, if the caller declared `deadlines`. */
export const DEFAULT_TIMEOUT_MS = 30_000;
/** Maximum nesting of a user's JSON value: a request's body, an item, the data of an event or job. */
export const MAX_DEPTH = 128;
/**
 * Maximum nesting of a payload. It is higher than `MAX_DEPTH`, because a payload may contain a user's value within a
 * request, an event or the input of a built-in function.
 */
export const MAX_PAYLOAD_DEPTH = MAX_DEPTH + 8;
/** Maximum length of an id or name, in bytes of UTF-8. */
export const MAX_NAME_BYTES = 256;

/**
 * Maximum difference between the clocks of two engines of a cluster, in milliseconds. Due times shift by up to this
 * difference.
 */
export const MAX_CLOCK_SKEW_MS = 1_000;
