/**
 * Maximum frame size in both directions, in bytes. The engine closes with 1009 above it. The SDKs reject larger frames
 * locally.
 */
export const MAX_FRAME_BYTES = 16 * 1024 * 1024;
/** Maximum frame size of the published Python client, in bytes. It would disconnect on a larger frame. */
export const PUBLISHED_PYTHON_MAX_FRAME_BYTES = 1024 * 1024;
/** Maximum timeout of a call, in milliseconds: one day. */
export const MAX_TIMEOUT_MS = 24 * 60 * 60 * 1000;
/** Default timeout of a call, in milliseconds, if the caller declared `deadlines`. */
export const DEFAULT_TIMEOUT_MS = 30_000;
