/** Close codes of the real-time listener. */
export const CLOSE = {
  /** The client sends too many messages, or only malformed ones. */
  policy: 1008,
  /** The engine failed. */
  internal: 1011,
  /** The provider of the streams has changed; the client should reconnect. */
  restart: 1012,
  /** The client does not read its messages fast enough. */
  tooSlow: 4008,
} as const;
