import { CallError } from "./call-error.ts";
import { type Envelope, scanEnvelope } from "./envelope.ts";
import { memberTexts, nestsDeeperThan } from "./json-text.ts";
import { MAX_PAYLOAD_DEPTH, MAX_TIMEOUT_MS } from "./limits.ts";
import {
  actionSchema,
  type Message,
  type MessageOf,
  type MessageType,
  messageSchemas,
  wireErrorSchema,
} from "./messages.ts";
import { nameProblem } from "./name-problem.ts";
import { Payload } from "./payload.ts";
import { isUuid } from "./uuid.ts";

export interface DecodeOptions {
  /** Whether the sender declared the feature `payload_last`. */
  readonly payloadIsLast: boolean;
}

/** Why a frame is not a message. Contains the readable members, so that the error to the sender can name the call. */
export interface UndecodableFrame {
  readonly type: "undecodable";
  readonly error: CallError;
  /** The frame's `type`, if readable. */
  readonly messageType: string | undefined;
  readonly invocationId: string | undefined;
  readonly functionId: string | undefined;
  /** The `id` of a registration. */
  readonly id: string | undefined;
}

const PAYLOAD_MEMBERS = ["data", "result", "metadata"] as const;
/**
 * Larger frames are forwarded as bytes if the sender declared `payload_last`. For smaller frames, strings are cheaper.
 */
const LARGE_FRAME_BYTES = 2048;
/** A large frame is decoded without its payload only if the envelope fits into this many bytes. */
const LARGE_FRAME_HEAD_BYTES = 2048;

const decoder = new TextDecoder();

/** Decodes a text frame. Never throws. */
export function decodeFrame(frame: string, options: DecodeOptions): Message | UndecodableFrame {
  const envelope = scanEnvelope(frame, options.payloadIsLast && frame.endsWith("}"), frame.length);
  if (envelope !== undefined) {
    const isLarge = frame.length > LARGE_FRAME_BYTES;
    if (isLarge) detach(envelope);
    const message = fromEnvelope(envelope, (start, end) =>
      Payload.fromText(
        isLarge && end - start <= LARGE_FRAME_BYTES ? copyOf(frame, start, end) : frame.slice(start, end),
      ),
    );
    if (message !== undefined) return message;
  }
  return decodeByParsing(frame);
}

/**
 * Decodes a frame of valid UTF-8 bytes. If the sender puts the payload last, a large payload stays an undecoded slice
 * of the bytes. Never throws.
 */
export function decodeFrameBytes(
  bytes: Uint8Array,
  options: DecodeOptions,
  toText: (bytes: Uint8Array) => string,
): Message | UndecodableFrame {
  if (options.payloadIsLast && bytes.length > LARGE_FRAME_BYTES && bytes[bytes.length - 1] === 0x7d) {
    const head = toText(bytes.subarray(0, LARGE_FRAME_HEAD_BYTES));
    const envelope = scanEnvelope(head, true, bytes.length);
    // Offsets count characters of the head. They are byte offsets only if everything before the payload is ASCII.
    if (envelope !== undefined && envelope.payloadEnd === bytes.length - 1 && isAscii(bytes, envelope.payloadStart)) {
      const message = fromEnvelope(envelope, (start, end) => Payload.fromBytes(bytes.subarray(start, end)));
      if (message !== undefined) return message;
    }
  }
  return decodeFrame(toText(bytes), options);
}

/** Copies strings that are kept after decoding, because a slice would keep the whole frame in memory. */
function detach(envelope: Envelope): void {
  for (const member of ["invocationId", "functionId", "traceparent", "baggage"] as const) {
    const text = envelope[member];
    if (text !== undefined) envelope[member] = copyOf(text, 0, text.length);
  }
}

/**
 * Returns a copy that does not reference `text`. In V8 a slice references the whole string, a concatenated string does
 * not.
 */
function copyOf(text: string, start: number, end: number): string {
  return ` ${text.slice(start, end)}`.slice(1);
}

function isAscii(bytes: Uint8Array, end: number): boolean {
  for (let at = 0; at < end; at++) if ((bytes[at] as number) > 127) return false;
  return true;
}

function fromEnvelope(envelope: Envelope, slice: (start: number, end: number) => Payload): Message | undefined {
  if (envelope.invocationId !== undefined && !isUuid(envelope.invocationId)) return undefined;
  const payload = envelope.payloadStart === -1 ? undefined : slice(envelope.payloadStart, envelope.payloadEnd);
  return envelope.type === "invokefunction" ? invokeFrom(envelope, payload) : resultFrom(envelope, payload);
}

/** Returns undefined if the frame must take the slow path, which reports an error if the frame is invalid. */
function invokeFrom(envelope: Envelope, payload: Payload | undefined): MessageOf<"invokefunction"> | undefined {
  const { functionId, timeoutMs } = envelope;
  if (envelope.error !== undefined || nameProblem(functionId, "function id") !== undefined) return undefined;
  if (timeoutMs !== undefined && timeoutMs > MAX_TIMEOUT_MS) return undefined;
  if (envelope.metadata !== undefined && tryParse(envelope.metadata) === undefined) return undefined;
  let action: MessageOf<"invokefunction">["action"];
  if (envelope.action !== undefined) {
    action = actionSchema.safeParse(tryParse(envelope.action)).data;
    if (action === undefined) return undefined;
  }
  return {
    type: "invokefunction",
    invocation_id: envelope.invocationId as MessageOf<"invokefunction">["invocation_id"],
    function_id: functionId as MessageOf<"invokefunction">["function_id"],
    data: payload ?? Payload.null,
    traceparent: envelope.traceparent,
    baggage: envelope.baggage,
    action,
    metadata: envelope.metadata === undefined ? undefined : Payload.fromText(envelope.metadata),
    timeout_ms: timeoutMs,
    caller: undefined,
    job: undefined,
  };
}

function resultFrom(envelope: Envelope, payload: Payload | undefined): MessageOf<"invocationresult"> | undefined {
  if (envelope.invocationId === undefined || envelope.action !== undefined || envelope.timeoutMs !== undefined)
    return undefined;
  let error: MessageOf<"invocationresult">["error"];
  if (envelope.error !== undefined) {
    error = wireErrorSchema.safeParse(tryParse(envelope.error)).data;
    if (error === undefined) return undefined;
  }
  return {
    type: "invocationresult",
    invocation_id: envelope.invocationId as MessageOf<"invocationresult">["invocation_id"],
    function_id: envelope.functionId,
    result: payload,
    error,
    traceparent: envelope.traceparent,
    baggage: envelope.baggage,
  };
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Decodes a frame by parsing it: the slow path, which defines what a frame means. */
export function decodeByParsing(frame: string): Message | UndecodableFrame {
  // Code that walks the value may recurse, so no value may be deep enough to exhaust the stack.
  if (nestsDeeperThan(frame, MAX_PAYLOAD_DEPTH + 1))
    return undecodable(`the frame is nested deeper than ${MAX_PAYLOAD_DEPTH} levels`, {});
  let raw: unknown;
  try {
    raw = JSON.parse(frame);
  } catch (cause) {
    return undecodable(`the frame is not JSON: ${(cause as Error).message}`, {});
  }
  if (typeof raw !== "object" || raw === null || Array.isArray(raw))
    return undecodable("the frame is not a JSON object", {});
  const members = raw as Record<string, unknown>;
  const type = Object.hasOwn(members, "type") ? members.type : undefined;
  if (typeof type !== "string") return undecodable("the frame has no `type`", members);
  if (!Object.hasOwn(messageSchemas, type)) {
    return undecodable(
      `unknown message type ${JSON.stringify(type.slice(0, 64))}; known: ${Object.keys(messageSchemas).join(", ")}`,
      members,
    );
  }
  const fields: Record<string, unknown> = { ...members };
  if (type === "invokefunction" || type === "invocationresult") {
    keepPayloadTexts(frame, fields);
    if (type === "invokefunction") {
      fields.data ??= Payload.null;
      if (members.metadata === null) fields.metadata = undefined;
      // Only the engine may set the caller and the job.
      fields.caller = undefined;
      fields.job = undefined;
    }
    // Published clients may send `false`, `0` or an empty string as `error`, which means that there is no error.
    if (members.error === false || members.error === "" || members.error === 0) fields.error = undefined;
  }
  const parsed = messageSchemas[type as MessageType].safeParse(fields);
  if (parsed.success) return parsed.data as Message;
  const issue = parsed.error.issues[0];
  const where = issue === undefined || issue.path.length === 0 ? "" : `\`${issue.path.join(".")}\`: `;
  return undecodable(`${type}: ${where}${issue?.message ?? "malformed"}`, members);
}

/** Replaces payloads in `fields` with their text in the frame. */
function keepPayloadTexts(frame: string, fields: Record<string, unknown>): void {
  const texts = memberTexts(frame);
  for (const name of PAYLOAD_MEMBERS) {
    const text = texts.get(name);
    if (text !== undefined)
      fields[name] = Payload.fromText(text.length <= LARGE_FRAME_BYTES ? copyOf(text, 0, text.length) : text);
  }
}

function undecodable(message: string, members: Record<string, unknown>): UndecodableFrame {
  const string = (name: string): string | undefined => {
    const value = Object.hasOwn(members, name) ? members[name] : undefined;
    return typeof value === "string" ? value : undefined;
  };
  const invocationId = string("invocation_id");
  const type = string("type");
  const name = type !== undefined && NAMING_MESSAGES.has(type) ? nameProblemOf(members) : undefined;
  return {
    type: "undecodable",
    error: new CallError(name === undefined ? "invalid_message" : "invalid_name", name ?? message),
    messageType: type,
    invocationId: invocationId !== undefined && isUuid(invocationId) ? invocationId : undefined,
    functionId: string("function_id"),
    id: string("id"),
  };
}

/** Messages whose ids must be valid names. Results are not included, because they repeat an id that was accepted. */
const NAMING_MESSAGES: ReadonlySet<string> = new Set([
  "registerfunction",
  "registertriggertype",
  "registertrigger",
  "invokefunction",
]);

function nameProblemOf(members: Record<string, unknown>): string | undefined {
  for (const key of ["id", "function_id", "trigger_type"]) {
    const value = members[key];
    const problem = typeof value === "string" ? nameProblem(value, `\`${key}\``) : undefined;
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** A frame to send: text, or UTF-8 chunks if a large payload is forwarded as the received bytes. */
export type Frame = string | readonly Uint8Array[];

const encoder = new TextEncoder();

/**
 * Returns a frame with the payload first and with the members that the receiver uses after it. The payload was not
 * parsed, so it may contain text that adds members to the frame. For a repeated member, receivers use the last one.
 */
function splice(opening: string, payload: Payload, rest: string): Frame {
  const bytes = payload.rawBytes;
  if (bytes === undefined) return opening + payload.text() + rest;
  return [encoder.encode(opening), bytes, encoder.encode(rest)];
}

export interface InvokeFields {
  readonly invocationId: string;
  readonly functionId: string;
  readonly data: Payload;
  readonly traceparent?: string | undefined;
  readonly baggage?: string | undefined;
  readonly metadata?: Payload | undefined;
  readonly timeoutMs?: number | undefined;
  readonly caller?: { readonly worker_id: string; readonly name: string } | undefined;
  readonly job?: { readonly queue: string; readonly id: string; readonly attempt: number } | undefined;
}

/**
 * Encodes an `invokefunction` for a callee that tolerates bad frames. Every member that the callee uses comes after the
 * payload, even unset members (as null), so that a payload that was not parsed cannot inject a member.
 */
export function encodeGuardedInvoke(fields: InvokeFields): Frame {
  return splice(
    '{"data":',
    fields.data,
    `,"type":"invokefunction","invocation_id":"${fields.invocationId}","function_id":${quote(fields.functionId)},"traceparent":${quote(fields.traceparent)}${
      fields.baggage === undefined && fields.metadata === undefined && fields.job === undefined
        ? cachedEnding(fields)
        : ending(fields)
    }`,
  );
}

let lastEnding = "";
let lastCaller: InvokeFields["caller"];
let lastTimeoutMs: number | undefined;

/** Caches the last ending: a caller makes many calls, usually with the same timeout. */
function cachedEnding(fields: InvokeFields): string {
  const { caller, timeoutMs } = fields;
  if (lastEnding === "" || caller !== lastCaller || timeoutMs !== lastTimeoutMs) {
    lastEnding = ending(fields);
    lastCaller = caller;
    lastTimeoutMs = timeoutMs;
  }
  return lastEnding;
}

function ending({ baggage, metadata, timeoutMs, caller, job }: InvokeFields): string {
  return `,"baggage":${quote(baggage)},"action":null,"metadata":${metadata?.text() ?? "null"},"timeout_ms":${timeoutMs ?? "null"},"caller":${
    caller === undefined ? "null" : JSON.stringify(caller)
  },"job":${job === undefined ? "null" : JSON.stringify(job)}}`;
}

/** Encodes an `invokefunction` for published clients: unset members are absent. The payload must be valid JSON. */
export function encodePublishedInvoke(fields: InvokeFields): Frame {
  return splice(
    '{"data":',
    fields.data,
    `,"type":"invokefunction","invocation_id":"${fields.invocationId}","function_id":${quote(fields.functionId)}${member("traceparent", fields.traceparent)}${member(
      "baggage",
      fields.baggage,
    )}${fields.metadata === undefined ? "" : `,"metadata":${fields.metadata.text()}`}}`,
  );
}

export interface ResultFields {
  readonly invocationId: string;
  readonly functionId: string;
  readonly result?: Payload | undefined;
  readonly error?:
    | {
        readonly code: string;
        readonly message: string;
        readonly stacktrace?: string | undefined;
        readonly details?: unknown;
      }
    | undefined;
  readonly traceparent?: string | undefined;
  readonly baggage?: string | undefined;
}

/** Encodes an `invocationresult` for a caller that tolerates bad frames. */
export function encodeGuardedResult(fields: ResultFields): Frame {
  const rest = `"type":"invocationresult","invocation_id":"${fields.invocationId}","function_id":${quote(fields.functionId)},"error":${
    fields.error === undefined ? "null" : JSON.stringify(fields.error)
  },"traceparent":${quote(fields.traceparent)},"baggage":${quote(fields.baggage)}}`;
  return fields.result === undefined ? `{${rest}` : splice('{"result":', fields.result, `,${rest}`);
}

/** Encodes an `invocationresult` for published clients. The payload must be valid JSON. */
export function encodePublishedResult(fields: ResultFields): Frame {
  const error =
    fields.error === undefined
      ? ""
      : `,"error":${JSON.stringify({ code: fields.error.code, message: fields.error.message, stacktrace: fields.error.stacktrace })}`;
  const rest = `"type":"invocationresult","invocation_id":"${fields.invocationId}","function_id":${quote(fields.functionId)}${error}${member(
    "traceparent",
    fields.traceparent,
  )}${member("baggage", fields.baggage)}}`;
  return fields.result === undefined ? `{${rest}` : splice('{"result":', fields.result, `,${rest}`);
}

function member(name: string, value: string | undefined): string {
  return value === undefined ? "" : `,"${name}":${quote(value)}`;
}

/**
 * Maximum length of strings that are checked before they are passed to JSON.stringify. Most ids and trace contexts are
 * short and need no escapes. The check takes a third of the time of JSON.stringify.
 */
const SHORT_TEXT = 64;

function quote(value: string | undefined): string {
  if (value === undefined) return "null";
  return value.length <= SHORT_TEXT && needsNoEscape(value) ? `"${value}"` : JSON.stringify(value);
}

/** Whether the text is printable ASCII without quotes and backslashes. */
function needsNoEscape(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code < 0x20 || code > 0x7e || code === 0x22 || code === 0x5c) return false;
  }
  return true;
}

export function frameBytes(frame: Frame): number {
  if (typeof frame !== "string") return frame.reduce((sum, piece) => sum + piece.byteLength, 0);
  return frame.length;
}

/** Returns the text of a frame. For tests and transports that send text. */
export function frameText(frame: Frame): string {
  return typeof frame === "string" ? frame : frame.map((piece) => decoder.decode(piece)).join("");
}
