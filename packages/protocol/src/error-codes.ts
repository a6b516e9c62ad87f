/** Whether the function may have run when the call failed. Decides whether a retry could run it twice. */
export type Executed = "no" | "unknown" | "yes";

export interface ErrorCodeFacts {
  /** Whether the same call may succeed later without a change by the caller. */
  readonly retryable: boolean;
  /** Status of an HTTP response that reports this error. */
  readonly httpStatus: number;
  readonly executed: Executed;
}

function row(httpStatus: number, executed: Executed, retryable: boolean): ErrorCodeFacts {
  return { httpStatus, executed, retryable };
}

/**
 * All error codes of svc. Codes in capitals are from the published protocol, which is older than svc, and keep their
 * spelling. The others are snake_case. A handler may also fail with its own code, which is passed on unchanged. The
 * meaning of each code is in `error-summaries.ts` and not here, because web pages load this file, so it must be small.
 */
export const errorCodes = {
  function_not_found: row(404, "no", true),
  function_not_invokable: row(400, "no", false),
  invocation_failed: row(500, "yes", false),
  invocation_stopped: row(503, "unknown", true),
  invocation_error: row(500, "unknown", false),
  channel_send_failed: row(503, "no", true),
  channel_closed: row(502, "unknown", false),
  enqueue_error: row(503, "no", true),
  queue_not_found: row(404, "no", false),
  queue_not_set: row(400, "no", false),
  message_id_not_set: row(400, "no", false),
  topic_required: row(400, "no", false),
  queue_full: row(503, "no", true),
  job_not_found: row(404, "no", false),
  lease_lost: row(409, "no", true),
  role_removed: row(403, "no", false),
  function_taken: row(403, "no", false),
  FORBIDDEN: row(403, "no", false),
  AUTH_ERROR: row(401, "no", false),
  INVALID_ARGUMENTS: row(400, "no", false),
  NOT_FOUND: row(404, "no", false),
  CONDITION_NOT_MET: row(422, "no", false),
  trigger_registration_failed: row(400, "no", false),
  trigger_type_not_found: row(404, "no", true),
  serialization_error: row(500, "yes", false),
  UNKNOWN: row(500, "unknown", false),
  call_timeout: row(504, "unknown", true),
  call_cancelled: row(503, "unknown", false),
  invalid_message: row(400, "no", false),
  memory_exporter_not_enabled: row(409, "no", false),
  invalid_input: row(400, "no", false),
  invalid_name: row(400, "no", false),
  invalid_request: row(400, "no", false),
  invalid_answer: row(500, "yes", false),
  request_timeout: row(408, "no", true),
  invalid_json: row(400, "no", false),
  unsupported_media_type: row(415, "no", false),
  method_not_allowed: row(405, "no", false),
  misdirected_request: row(421, "no", false),
  payload_too_large: row(413, "no", false),
  registration_refused: row(409, "no", false),
  too_many_calls: row(503, "no", true),
  worker_overloaded: row(503, "no", true),
  overloaded: row(503, "no", true),
  rate_limited: row(429, "no", true),
  MIDDLEWARE_TIMEOUT: row(504, "no", true),
  draining: row(503, "no", true),
  disconnected: row(503, "unknown", true),
  state_conflict: row(409, "no", false),
  trigger_loop: row(508, "no", false),
  JSON_ERROR: row(500, "yes", false),
  storage_failed: row(503, "unknown", true),
  store_unavailable: row(503, "unknown", true),
  run_expelled: row(503, "no", true),
  format_not_enforced: row(400, "no", false),
  function_shared: row(409, "no", false),
  route_taken: row(409, "no", false),
  url_validation_failed: row(500, "no", false),
  secret_not_found: row(500, "no", false),
  token_not_found: row(500, "no", false),
  api_key_not_found: row(500, "no", false),
  http_request_failed: row(502, "unknown", true),
  http_response_failed: row(502, "yes", false),
  http_error: row(502, "unknown", false),
  invalid_response: row(502, "yes", false),
  topic_not_set: row(400, "no", false),
  part_not_loaded: row(503, "no", true),
  worker_not_found: row(404, "no", false),
} as const satisfies Record<string, ErrorCodeFacts>;

/** Name of an error code of svc. */
export type ErrorCode = keyof typeof errorCodes;

/**
 * Returns the code for an HTTP response that svc itself makes. It is in lower case, even if workers get the code in
 * capitals. Do not use it for errors of calls: they keep their code, because a handler may have chosen it.
 */
export function httpCodeOf(code: string): string {
  return code.toLowerCase();
}

const ownFailure: ErrorCodeFacts = row(500, "yes", false);

/**
 * Returns the facts of a code. A code that is not in the table is a handler's own and has the facts of
 * `invocation_failed`.
 */
export function factsOf(code: string): ErrorCodeFacts {
  return Object.hasOwn(errorCodes, code) ? errorCodes[code as ErrorCode] : ownFailure;
}
