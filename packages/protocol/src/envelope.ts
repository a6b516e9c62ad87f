import { closingQuote, endOfValue, skipSpace } from "./json-text.ts";
import { MAX_PAYLOAD_DEPTH } from "./limits.ts";

/**
 * The members of a frame, found without parsing the payload. The fast path for the two messages of every call. For any
 * unusual frame it returns undefined, and the caller parses the frame as JSON: the slow path is the specification, and
 * a fuzz test compares the two.
 */
export interface Envelope {
  type: "invokefunction" | "invocationresult";
  invocationId: string | undefined;
  functionId: string;
  /** True if the payload's member is `result`, false if it is `data`. */
  payloadIsResult: boolean;
  /** Position of `data` or `result` in the frame: [start, end). `start` is -1 if it is absent. */
  payloadStart: number;
  payloadEnd: number;
  traceparent: string | undefined;
  baggage: string | undefined;
  /** JSON text of members that are rarely present. */
  action: string | undefined;
  metadata: string | undefined;
  timeoutMs: number | undefined;
  error: string | undefined;
}

const QUOTE = 34;
const BACKSLASH = 92;
const COMMA = 44;
const COLON = 58;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;

/**
 * Returns the string between the quotes at `start` and `end - 1`, or undefined if it has escapes or control characters.
 */
function plainString(text: string, start: number, end: number): string | undefined {
  if (text.charCodeAt(start) !== QUOTE) return undefined;
  const inner = text.slice(start + 1, end - 1);
  for (let at = 0; at < inner.length; at++) {
    const code = inner.charCodeAt(at);
    if (code === BACKSLASH || code < 32) return undefined;
  }
  return inner;
}

/**
 * Reads the envelope of one frame.
 *
 * @param text the frame, or its beginning if `payloadIsLast` is true
 * @param payloadIsLast whether the sender declared that `data` or `result` is the last member, so that the payload ends
 *   before the closing brace
 * @param frameLength length of the whole frame in the units of the returned offsets. Only read if `payloadIsLast` is
 *   true
 */
export function scanEnvelope(text: string, payloadIsLast: boolean, frameLength: number): Envelope | undefined {
  if (text.charCodeAt(0) !== OPEN_BRACE) return undefined;
  const found = emptyEnvelope();
  let at = readCommonOpening(text, found);
  let seen = at === 1 ? 0 : COMMON_OPENING;
  for (;;) {
    at = skipSpace(text, at);
    if (text.charCodeAt(at) !== QUOTE) return undefined;
    const keyEnd = closingQuote(text, at);
    if (keyEnd === -1) return undefined;
    const key = text.slice(at + 1, keyEnd);
    at = skipSpace(text, keyEnd + 1);
    if (text.charCodeAt(at) !== COLON) return undefined;
    const start = skipSpace(text, at + 1);

    const bit = memberBit(key);
    // An unknown or escaped key requires a real parser, and for a repeated member the last one wins. The slow path
    // handles both.
    if (bit === 0 || (seen & bit) !== 0) return undefined;
    seen |= bit;

    if (payloadIsLast && bit === PAYLOAD) return closeAtPayload(found, seen, key, start, frameLength);

    const end = endOfValue(text, start, MAX_PAYLOAD_DEPTH);
    if (end === -1) return undefined;
    if (!store(found, key, text, start, end)) return undefined;

    at = skipSpace(text, end);
    const next = text.charCodeAt(at);
    if (next === COMMA) {
      at++;
      continue;
    }
    if (next !== CLOSE_BRACE || skipSpace(text, at + 1) !== text.length) return undefined;
    return finish(found, seen);
  }
}

const INVOKE_OPENING = '{"type":"invokefunction","invocation_id":"';
const RESULT_OPENING = '{"type":"invocationresult","invocation_id":"';
const FUNCTION_ID_OPENING = '","function_id":"';
const UUID_LENGTH = 36;

/**
 * Reads the first three members in the form that the SDKs write, compared as whole strings instead of key by key.
 * Returns the index of the next member, or 1 (after the opening brace) for other forms.
 */
function readCommonOpening(text: string, found: Envelope): number {
  const isResult = text.startsWith(RESULT_OPENING);
  if (!isResult && !text.startsWith(INVOKE_OPENING)) return 1;
  const idStart = isResult ? RESULT_OPENING.length : INVOKE_OPENING.length;
  const idEnd = idStart + UUID_LENGTH;
  if (!text.startsWith(FUNCTION_ID_OPENING, idEnd)) return 1;
  const functionStart = idEnd + FUNCTION_ID_OPENING.length;
  const functionEnd = closingQuote(text, functionStart - 1);
  if (functionEnd === -1 || text.charCodeAt(functionEnd + 1) !== COMMA) return 1;
  const functionId = plainString(text, functionStart - 1, functionEnd + 1);
  // The invocation id needs no such check here, because the caller checks that it is a UUID.
  if (functionId === undefined) return 1;
  found.type = isResult ? "invocationresult" : "invokefunction";
  found.invocationId = text.slice(idStart, idEnd);
  found.functionId = functionId;
  return functionEnd + 2;
}

function emptyEnvelope(): Envelope {
  return {
    type: "invokefunction",
    invocationId: undefined,
    functionId: "",
    payloadIsResult: false,
    payloadStart: -1,
    payloadEnd: -1,
    traceparent: undefined,
    baggage: undefined,
    action: undefined,
    metadata: undefined,
    timeoutMs: undefined,
    error: undefined,
  };
}

const TYPE = 1;
const FUNCTION_ID = 2;
const PAYLOAD = 4;
const INVOCATION_ID = 8;
const COMMON_OPENING = TYPE | INVOCATION_ID | FUNCTION_ID;

function memberBit(key: string): number {
  switch (key) {
    case "type":
      return TYPE;
    case "function_id":
      return FUNCTION_ID;
    case "data":
    case "result":
      // One bit for both members, so that a frame with both members takes the slow path.
      return PAYLOAD;
    case "invocation_id":
      return INVOCATION_ID;
    case "traceparent":
      return 16;
    case "baggage":
      return 32;
    case "action":
      return 64;
    case "metadata":
      return 128;
    case "timeout_ms":
      return 256;
    case "error":
      return 512;
    case "namespace":
      return 1024;
    case "caller":
      return 2048;
    case "job":
      return 4096;
    default:
      return 0;
  }
}

/** Stores a member. Returns false if its value requires the slow path. */
function store(found: Envelope, key: string, text: string, start: number, end: number): boolean {
  switch (key) {
    case "data":
    case "result":
      found.payloadIsResult = key === "result";
      found.payloadStart = start;
      found.payloadEnd = end;
      return true;
    case "type": {
      const type = plainString(text, start, end);
      if (type !== "invokefunction" && type !== "invocationresult") return false;
      found.type = type;
      return true;
    }
    case "function_id": {
      const id = plainString(text, start, end);
      if (id === undefined) return false;
      found.functionId = id;
      return true;
    }
    case "invocation_id":
    case "traceparent":
    case "baggage": {
      const absent = isNull(text, start, end);
      const value = absent ? undefined : plainString(text, start, end);
      if (!absent && value === undefined) return false;
      if (key === "invocation_id") found.invocationId = value;
      else if (key === "traceparent") found.traceparent = value;
      else found.baggage = value;
      return true;
    }
    case "timeout_ms": {
      if (isNull(text, start, end)) return true;
      const raw = text.slice(start, end);
      if (!/^[1-9][0-9]{0,9}$/.test(raw)) return false;
      found.timeoutMs = Number(raw);
      return true;
    }
    case "action":
    case "metadata":
    case "error":
      if (!isNull(text, start, end)) found[key] = text.slice(start, end);
      return true;
    // `namespace` is ignored. Only the engine may set `caller` and `job`, so a worker's values are not read.
    default:
      return text.charCodeAt(start) === QUOTE ? plainString(text, start, end) !== undefined : isNull(text, start, end);
  }
}

function isNull(text: string, start: number, end: number): boolean {
  return end - start === 4 && text.startsWith("null", start);
}

/** Ends the scan at a payload that is the last member. The payload ends before the brace that closes the frame. */
function closeAtPayload(
  found: Envelope,
  seen: number,
  key: string,
  start: number,
  frameLength: number,
): Envelope | undefined {
  if (start >= frameLength - 1) return undefined;
  found.payloadIsResult = key === "result";
  found.payloadStart = start;
  found.payloadEnd = frameLength - 1;
  return finish(found, seen);
}

function finish(found: Envelope, seen: number): Envelope | undefined {
  if ((seen & (TYPE | FUNCTION_ID)) !== (TYPE | FUNCTION_ID)) return undefined;
  if ((seen & PAYLOAD) !== 0 && found.payloadIsResult !== (found.type === "invocationresult")) return undefined;
  return found;
}
