/**
 * Optional features of a connection, declared in `features` of its `engine::workers::register` call. Published clients
 * declare no features. The engine sends them only messages and members of the published protocol.
 */
export const FEATURES = [
  /** Handles `cancelinvocation`. */
  "cancel",
  /** Accepts `caller` in `invokefunction`. */
  "caller",
  /**
   * Sends `timeout_ms` and relies on the engine for deadlines. Without this feature, calls have the legacy deadline.
   */
  "deadlines",
  /** When it gets `draining`, it moves to another engine of the cluster if it knows one. */
  "draining",
  /** Accepts `error.details`. */
  "error_details",
  /** Accepts `job` in `invokefunction`. */
  "job",
  /** Sends its log lines as telemetry. If it also writes a line to its output, both have the same `log_id`. */
  "logs",
  /**
   * Always writes `data` or `result` as the last member of its frames, so that the engine need not search for its end.
   */
  "payload_last",
  /** Accepts `triggerregistrationresult` for success too, with `status` and `reason`. */
  "registration_results",
  /** Tolerates frames that are not JSON, so that the engine may forward unread payloads to it. */
  "tolerates_bad_frames",
] as const;
export type Feature = (typeof FEATURES)[number];
