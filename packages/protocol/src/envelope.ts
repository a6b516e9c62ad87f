import { closingQuote, endOfValue, skipSpace } from "./json-text.ts";

/**
 * Finds the members of a frame without parsing the payload. This is the fast path for the two messages that make up the
 * traffic; whatever looks unusual makes it give up (undefined), and the caller parses the frame as JSON instead: the slow path
 * is the specification, and the two are compared by a fuzz test.
 */
export interface Envelope {
  type: "invokefunction" | "invocationresult";
  invocationId: string | undefined;
  functionId: string;
  /** True when the payload's member is `result`, false when it is `data`. */
  payloadIsResult: boolean;
  /** Where `data` or `result` stands in the frame: [start, end). `start` is -1 when the member is absent. */
  payloadStart: number;
  payloadEnd: number;
  traceparent: string | undefined;
  baggage: string | undefined;
  /** Raw JSON text of members that are read only when present. */
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

/** Deepest nesting of a JSON value of a user: a request's body, an item, the data of an event or job. */
export const MAX_DEPTH = 128;
/** Deepest nesting of a payload, which may carry such a value within a request, an event or the input of a built-in function. */
export const MAX_PAYLOAD_DEPTH = MAX_DEPTH + 8;

/** The string between the quotes at `start` and `end - 1`, when it needs no unescaping and holds no control character. */
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
 * @param text the frame, or its first part when `restFrom` is given
 * @param payloadIsLast the sender promised that `data` or `result` is the last member, so the payload runs to the closing brace
 * @param frameLength length of the whole frame in the units of the returned offsets; only read when `payloadIsLast`
 */
export function scanEnvelope(text: string, payloadIsLast: boolean, frameLength: number): Envelope | undefined {
  if (text.charCodeAt(0) !== OPEN_BRACE) return undefined;
  const found = emptyEnvelope();
  let at = readUsualOpening(text, found);
  let seen = at === 1 ? 0 : USUAL_OPENING;
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
    // An unknown or escaped key needs a real parser; a repeated member means that the last one wins. Both are for the slow path.
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
 * The first three members as our SDKs write them, compared in whole pieces instead of key by key. Returns where the next member
 * begins, or 1 (the place behind the opening brace) when the frame begins otherwise.
 */
function readUsualOpening(text: string, found: Envelope): number {
  const isResult = text.startsWith(RESULT_OPENING);
  if (!isResult && !text.startsWith(INVOKE_OPENING)) return 1;
  const idStart = isResult ? RESULT_OPENING.length : INVOKE_OPENING.length;
  const idEnd = idStart + UUID_LENGTH;
  if (!text.startsWith(FUNCTION_ID_OPENING, idEnd)) return 1;
  const functionStart = idEnd + FUNCTION_ID_OPENING.length;
  const functionEnd = closingQuote(text, functionStart - 1);
  if (functionEnd === -1 || text.charCodeAt(functionEnd + 1) !== COMMA) return 1;
  const functionId = plainString(text, functionStart - 1, functionEnd + 1);
  // Quotes and backslashes are refused where the id is checked to be a UUID.
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
const USUAL_OPENING = TYPE | INVOCATION_ID | FUNCTION_ID;

function memberBit(key: string): number {
  switch (key) {
    case "type":
      return TYPE;
    case "function_id":
      return FUNCTION_ID;
    case "data":
    case "result":
      // One bit for both: a frame with both is for the slow path.
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

/** Keeps a member; false when its value needs the slow path. */
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
    // `namespace` is tolerated and ignored; `caller` and `job` are the engine's to say, so what a worker says is not even read.
    default:
      return text.charCodeAt(start) === QUOTE ? plainString(text, start, end) !== undefined : isNull(text, start, end);
  }
}

function isNull(text: string, start: number, end: number): boolean {
  return end - start === 4 && text.startsWith("null", start);
}

/** The payload is the last member: it runs to the brace that closes the frame. */
function closeAtPayload(found: Envelope, seen: number, key: string, start: number, frameLength: number): Envelope | undefined {
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
