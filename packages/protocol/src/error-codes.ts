/** Whether the function may have run when the call failed: a caller that must not run it twice asks this before it retries. */
export type Executed = "no" | "unknown" | "yes";

export interface ErrorCodeFacts {
  /** True when the same call may succeed later without a change by the caller. */
  readonly retryable: boolean;
  /** Status of an HTTP answer that carries this error. */
  readonly httpStatus: number;
  readonly executed: Executed;
  readonly summary: string;
}

function row(httpStatus: number, executed: Executed, retryable: boolean, summary: string): ErrorCodeFacts {
  return { httpStatus, executed, retryable, summary };
}

/**
 * Every error code that svc itself gives. Codes in capitals were published on this wire before us and keep their spelling;
 * ours are snake_case. A handler may also fail with a code of its own, which travels unchanged.
 */
export const errorCodes = {
  function_not_found: row(404, "no", true, "No live worker provides the function."),
  function_not_invokable: row(400, "no", false, "The function is reached over HTTP and cannot be called inside the worker."),
  invocation_failed: row(500, "yes", false, "The handler threw; the message is its own."),
  invocation_stopped: row(503, "unknown", true, "The worker that held the call went away."),
  invocation_error: row(500, "unknown", false, "The engine lost the call; a defect of the engine."),
  channel_send_failed: row(503, "no", true, "The call could not be written to the worker."),
  channel_closed: row(502, "unknown", false, "The other end of a channel went away before the end."),
  enqueue_error: row(503, "no", true, "The job could not be put on the queue."),
  queue_not_found: row(404, "no", false, "No queue of this name is declared."),
  queue_not_set: row(400, "no", false, "The request names no queue."),
  message_id_not_set: row(400, "no", false, "The request names no message."),
  topic_required: row(400, "no", false, "The request names no topic to look at."),
  queue_full: row(503, "no", true, "The queue holds as many jobs, bytes or dead letters as it may."),
  job_not_found: row(404, "no", false, "The queue holds no job of this id, or not in the state that is asked for."),
  role_removed: row(403, "no", false, "The role that made the job was removed from the config, or its last token was."),
  function_taken: row(403, "no", false, "The function belongs to another principal than when a restricted caller named it for a later call."),
  FORBIDDEN: row(403, "no", false, "The caller may not do this."),
  AUTH_ERROR: row(401, "no", false, "The connection's credentials were refused."),
  INVALID_ARGUMENTS: row(400, "no", false, "The arguments contradict each other."),
  NOT_FOUND: row(404, "no", false, "The thing asked for does not exist."),
  CONDITION_NOT_MET: row(422, "no", false, "The trigger's condition function answered false."),
  trigger_registration_failed: row(400, "no", false, "The trigger's config was refused, or its provider failed to bind it."),
  trigger_type_not_found: row(404, "no", true, "No one provides the trigger type."),
  serialization_error: row(500, "yes", false, "The handler's result cannot be written as JSON."),
  UNKNOWN: row(500, "unknown", false, "The error came without a code."),
  call_timeout: row(504, "unknown", true, "The call's deadline passed before an answer came."),
  call_cancelled: row(503, "unknown", false, "The caller withdrew the call, or went away."),
  invalid_message: row(400, "no", false, "A frame is not a message of this protocol."),
  memory_exporter_not_enabled: row(409, "no", false, "Spans are sent elsewhere and not kept: the exporter in the block svc-observability is otlp."),
  invalid_input: row(400, "no", false, "The payload does not fit what the function takes."),
  invalid_name: row(400, "no", false, "An id or name is empty, too long, or holds a control character."),
  invalid_request: row(400, "no", false, "The path, the query or the headers of an HTTP request cannot be understood."),
  invalid_answer: row(500, "yes", false, "The handler's answer cannot be turned into an HTTP response."),
  request_timeout: row(408, "no", true, "The request did not arrive in time."),
  invalid_json: row(400, "no", false, "The body is not JSON."),
  unsupported_media_type: row(415, "no", false, "The content type of the request is not one that is understood here."),
  method_not_allowed: row(405, "no", false, "The path exists, but not for this method."),
  misdirected_request: row(421, "no", false, "The Host header names a host that this listener does not serve."),
  payload_too_large: row(413, "no", false, "The payload is over the limit of the engine or of the receiver."),
  registration_refused: row(409, "no", false, "The id is reserved, or the connection's limit of registrations is reached."),
  too_many_calls: row(503, "no", true, "The caller has as many calls in flight as it may have."),
  worker_overloaded: row(503, "no", true, "Every worker that provides the function has a full outbound buffer."),
  overloaded: row(503, "no", true, "The engine has as much work of this kind as it takes."),
  rate_limited: row(429, "no", true, "The client asks more often than the rate limit lets it."),
  MIDDLEWARE_TIMEOUT: row(504, "no", true, "A middleware function of an HTTP route did not answer in time."),
  draining: row(503, "no", true, "The engine is shutting down and takes no new work."),
  disconnected: row(503, "unknown", true, "The connection to the engine ended before the answer came."),
  state_conflict: row(409, "no", false, "The item's version is not the one the write asked for."),
  trigger_loop: row(508, "no", false, "The write would fire triggers that already fired one another 16 times; nothing was written."),
  JSON_ERROR: row(500, "yes", false, "A function that keeps the items of a stream answered with another shape than it should."),
  storage_failed: row(503, "unknown", true, "The store could not write, or could not be read."),
  format_not_enforced: row(400, "no", false, "The registration stands, but its format is no JSON Schema that the engine can check by."),
  route_taken: row(409, "no", false, "Another function already has this method and path."),
  url_validation_failed: row(500, "no", false, "The address of a function reached over HTTP is malformed, not allowed, or cannot be resolved."),
  secret_not_found: row(500, "no", false, "The environment variable with the HMAC secret of a function reached over HTTP is not set."),
  token_not_found: row(500, "no", false, "The environment variable with the bearer token of a function reached over HTTP is not set."),
  api_key_not_found: row(500, "no", false, "The environment variable with the API key of a function reached over HTTP is not set."),
  http_request_failed: row(502, "unknown", true, "The request to a function reached over HTTP got no answer in time, or none at all."),
  http_response_failed: row(502, "yes", false, "The answer of a function reached over HTTP broke off or is too large."),
  http_error: row(502, "unknown", false, "A function reached over HTTP answered with a status of failure."),
  invalid_response: row(502, "yes", false, "A function reached over HTTP answered with something that is not JSON."),
  topic_not_set: row(400, "no", false, "Something was published without naming a topic."),
  worker_not_found: row(404, "no", false, "No worker of this name is configured."),
} as const satisfies Record<string, ErrorCodeFacts>;

/** The closed set of codes that svc gives. */
export type ErrorCode = keyof typeof errorCodes;

const ownFailure: ErrorCodeFacts = row(500, "yes", false, "A code of the handler's own.");

/** Facts of a code; a code that is not in the table is a handler's own and gets the facts of `invocation_failed`. */
export function factsOf(code: string): ErrorCodeFacts {
  return Object.hasOwn(errorCodes, code) ? errorCodes[code as ErrorCode] : ownFailure;
}
