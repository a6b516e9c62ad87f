/** Whether the function may have run when the call failed. Decides whether a retry could run it twice. */
export type Executed = "no" | "unknown" | "yes";

export interface ErrorCodeFacts {
  /** Whether the same call may succeed later without a change by the caller. */
  readonly retryable: boolean;
  /** Status of an HTTP response that reports this error. */
  readonly httpStatus: number;
  readonly executed: Executed;
  readonly summary: string;
}

function row(httpStatus: number, executed: Executed, retryable: boolean, summary: string): ErrorCodeFacts {
  return { httpStatus, executed, retryable, summary };
}

/**
 * All error codes of svc. Codes in capitals existed on the published wire before svc and keep their spelling. The
 * others are snake_case. A handler may also fail with its own code, which is passed on unchanged.
 */
export const errorCodes = {
  function_not_found: row(404, "no", true, "No live worker provides the function."),
  function_not_invokable: row(400, "no", false, "The function is called over HTTP and does not run in the worker."),
  invocation_failed: row(500, "yes", false, "The handler threw an error; the message is the handler's."),
  invocation_stopped: row(503, "unknown", true, "The worker that ran the call disconnected."),
  invocation_error: row(500, "unknown", false, "The engine lost the call; this is a bug in the engine."),
  channel_send_failed: row(503, "no", true, "The call could not be sent to the worker."),
  channel_closed: row(502, "unknown", false, "The other end of a channel disconnected before the end."),
  enqueue_error: row(503, "no", true, "The job could not be added to the queue."),
  queue_not_found: row(404, "no", false, "No queue of this name is declared."),
  queue_not_set: row(400, "no", false, "The request has no queue name."),
  message_id_not_set: row(400, "no", false, "The request has no message id."),
  topic_required: row(400, "no", false, "The request has no topic."),
  queue_full: row(503, "no", true, "The queue has reached its limit of jobs, bytes or dead-letter entries."),
  job_not_found: row(404, "no", false, "The queue has no job with this id in the requested state."),
  role_removed: row(403, "no", false, "The role that made the job, or its last token, was removed from the config."),
  function_taken: row(
    403,
    "no",
    false,
    "Another principal provides the function now than when a restricted caller made the job or alert.",
  ),
  FORBIDDEN: row(403, "no", false, "The caller is not permitted to do this."),
  AUTH_ERROR: row(401, "no", false, "The connection's credentials were rejected."),
  INVALID_ARGUMENTS: row(400, "no", false, "The arguments contradict each other."),
  NOT_FOUND: row(404, "no", false, "The requested item does not exist."),
  CONDITION_NOT_MET: row(422, "no", false, "The trigger's condition function returned false."),
  trigger_registration_failed: row(
    400,
    "no",
    false,
    "The trigger's config was rejected, or its provider failed to bind it.",
  ),
  trigger_type_not_found: row(404, "no", true, "No worker or module provides the trigger type."),
  serialization_error: row(500, "yes", false, "The handler's result cannot be written as JSON."),
  UNKNOWN: row(500, "unknown", false, "The error came without a code."),
  call_timeout: row(504, "unknown", true, "The call did not complete before its deadline."),
  call_cancelled: row(503, "unknown", false, "The caller cancelled the call, or disconnected."),
  invalid_message: row(400, "no", false, "A frame is not a message of this protocol."),
  memory_exporter_not_enabled: row(
    409,
    "no",
    false,
    "Spans are exported and not stored: the exporter in the block svc-observability is otlp.",
  ),
  invalid_input: row(400, "no", false, "The payload does not match the function's input."),
  invalid_name: row(400, "no", false, "An id or name is empty, too long, or contains a control character."),
  invalid_request: row(400, "no", false, "The path, the query or the headers of an HTTP request are malformed."),
  invalid_answer: row(500, "yes", false, "The handler's result cannot be converted to an HTTP response."),
  request_timeout: row(408, "no", true, "The request did not arrive in time."),
  invalid_json: row(400, "no", false, "The body is not JSON."),
  unsupported_media_type: row(415, "no", false, "The content type of the request is not supported."),
  method_not_allowed: row(405, "no", false, "The path exists, but not with this method."),
  misdirected_request: row(421, "no", false, "The Host header names a host that this listener does not serve."),
  payload_too_large: row(413, "no", false, "The payload exceeds the limit of the engine or of the receiver."),
  registration_refused: row(
    409,
    "no",
    false,
    "The id is reserved, or the connection's limit of registrations is reached.",
  ),
  too_many_calls: row(503, "no", true, "The caller has reached its limit of calls in flight."),
  worker_overloaded: row(503, "no", true, "Every worker that provides the function has a full outbound buffer."),
  overloaded: row(503, "no", true, "The engine has reached its limit of work of this kind."),
  rate_limited: row(429, "no", true, "The client exceeds the rate limit."),
  MIDDLEWARE_TIMEOUT: row(504, "no", true, "A middleware function of an HTTP route timed out."),
  draining: row(503, "no", true, "The engine is shutting down and accepts no new work."),
  disconnected: row(503, "unknown", true, "The connection to the engine ended before the result arrived."),
  state_conflict: row(409, "no", false, "The item's version is not the version that the write expects."),
  trigger_loop: row(508, "no", false, "The write would start a chain of more than 16 triggers; nothing was written."),
  JSON_ERROR: row(500, "yes", false, "A function that stores the items of a stream returned an invalid result."),
  storage_failed: row(503, "unknown", true, "Reading or writing the store failed."),
  format_not_enforced: row(
    400,
    "no",
    false,
    "The registration succeeded, but the engine cannot enforce its format as JSON Schema.",
  ),
  function_shared: row(
    409,
    "no",
    false,
    "The registration succeeded, but a worker of another name provides the same function.",
  ),
  route_taken: row(409, "no", false, "Another function already has this method and path."),
  url_validation_failed: row(
    500,
    "no",
    false,
    "The address of a function called over HTTP is malformed, not allowed, or cannot be resolved.",
  ),
  secret_not_found: row(
    500,
    "no",
    false,
    "The environment variable with the HMAC secret of a function called over HTTP is not set.",
  ),
  token_not_found: row(
    500,
    "no",
    false,
    "The environment variable with the bearer token of a function called over HTTP is not set.",
  ),
  api_key_not_found: row(
    500,
    "no",
    false,
    "The environment variable with the API key of a function called over HTTP is not set.",
  ),
  http_request_failed: row(502, "unknown", true, "The request to a function called over HTTP failed or timed out."),
  http_response_failed: row(
    502,
    "yes",
    false,
    "The response of a function called over HTTP is incomplete or too large.",
  ),
  http_error: row(502, "unknown", false, "A function called over HTTP responded with an error status."),
  invalid_response: row(502, "yes", false, "A function called over HTTP responded with a body that is not JSON."),
  topic_not_set: row(400, "no", false, "A message was published without a topic."),
  worker_not_found: row(404, "no", false, "No worker of this name is configured."),
} as const satisfies Record<string, ErrorCodeFacts>;

/** Name of an error code of svc. */
export type ErrorCode = keyof typeof errorCodes;

/**
 * Returns the code for an HTTP response that svc itself makes: in snake_case, also if it is in capitals on the wire of
 * workers. The errors of calls keep their code, because a handler may have chosen it.
 */
export function httpCodeOf(code: string): string {
  return code.toLowerCase();
}

const ownFailure: ErrorCodeFacts = row(500, "yes", false, "A code of the handler's own.");

/**
 * Returns the facts of a code. A code that is not in the table is a handler's own and has the facts of
 * `invocation_failed`.
 */
export function factsOf(code: string): ErrorCodeFacts {
  return Object.hasOwn(errorCodes, code) ? errorCodes[code as ErrorCode] : ownFailure;
}
