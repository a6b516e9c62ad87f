import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { findJsonFault, type JsonFault, MAX_DEPTH, nestsDeeperThan } from "@svc-runtime/protocol";
import type { Clock } from "../../../kernel/clock.ts";
import { readUrlEncoded } from "../fields.ts";
import { Refusal } from "../refusal.ts";
import type { ReadKind } from "./body-kind.ts";

/** Returns the declared length, in bytes; undefined for a chunked body. */
export function declaredLength(request: IncomingMessage): number | undefined {
  if (request.headers["transfer-encoding"] !== undefined) return undefined;
  // Node has validated that the header holds one number.
  return Number(request.headers["content-length"] ?? 0);
}

/** A size limit of bodies, with the name of its setting. */
export interface BodyLimit {
  readonly bytes: number;
  /** E.g. `body_limit_bytes of svc-http`. */
  readonly setting: string;
}

/** Returns the limit of a route, or the module's if the route sets none. */
export function limitOf(
  key: "body_limit_bytes" | "form_limit_bytes",
  ofRoute: number | undefined,
  ofModule: number,
): BodyLimit {
  return ofRoute === undefined
    ? { bytes: ofModule, setting: `${key} of svc-http` }
    : { bytes: ofRoute, setting: `${key} of the route` };
}

export interface BodyReading {
  readonly limit: BodyLimit;
  /** Time limit for receiving the body, in milliseconds. */
  readonly timeoutMs: number;
  readonly clock: Clock;
}

/**
 * Reads the whole body; undefined if there is none. Throws 413 as soon as it exceeds the limit, and 408 if it does not
 * arrive in time.
 */
export async function readBody(request: IncomingMessage, options: BodyReading): Promise<Buffer | undefined> {
  const length = declaredLength(request);
  if (length === 0) return undefined;
  if (length !== undefined && length > options.limit.bytes) throw tooLarge(options.limit);
  const { body: arriving } = new BodyRead(request, length, options);
  const body = await arriving;
  return body.byteLength === 0 ? undefined : body;
}

/** Reads that began in this turn of the event loop. */
let begun: BodyRead[] = [];

/** Starts the deadline of each body that did not arrive in the same turn of the event loop as its request head. */
function superviseBegun(): void {
  const reads = begun;
  begun = [];
  for (const read of reads) read.supervise();
}

/**
 * One body that is read completely. A small body usually arrives in the same turn of the event loop as its request
 * head. The declared length then shows where the body ends, so neither a timer nor further listeners are needed.
 */
class BodyRead {
  readonly body: Promise<Buffer>;
  readonly #request: IncomingMessage;
  readonly #declared: number | undefined;
  readonly #options: BodyReading;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  #isOver = false;
  #cancelTimer = (): void => {};
  #resolve!: (body: Buffer) => void;
  #reject!: (reason: Refusal) => void;

  /** `declared`: the length, or undefined for a chunked body. */
  constructor(request: IncomingMessage, declared: number | undefined, options: BodyReading) {
    this.#request = request;
    this.#declared = declared;
    this.#options = options;
    this.body = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    request.on("data", this.#onData);
    if (begun.push(this) === 1) setImmediate(superviseBegun);
  }

  supervise(): void {
    if (this.#isOver) return;
    const request = this.#request;
    if (request.readableEnded) {
      this.#ended();
      return;
    }
    if (request.destroyed) {
      this.#closed();
      return;
    }
    const { clock, timeoutMs } = this.#options;
    this.#cancelTimer = clock.after(timeoutMs, () => {
      const message = `the body did not arrive within ${timeoutMs} ms`;
      this.#fail(new Refusal({ status: 408, code: "request_timeout", message }));
    });
    request
      .on("end", () => this.#ended())
      .on("close", () => this.#closed())
      .on("error", ignoreError);
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#bytes += chunk.byteLength;
    if (this.#bytes > this.#options.limit.bytes) {
      this.#fail(tooLarge(this.#options.limit));
      return;
    }
    this.#chunks.push(chunk);
    if (this.#bytes === this.#declared) this.#ended();
  };

  #ended(): void {
    if (this.#isOver) return;
    this.#end();
    const chunks = this.#chunks;
    this.#resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, this.#bytes));
  }

  #closed(): void {
    const message = "the body ended before it was complete";
    this.#fail(new Refusal({ status: 400, code: "invalid_request", message }));
  }

  #fail(reason: Refusal): void {
    if (this.#isOver) return;
    this.#end();
    this.#request.off("data", this.#onData);
    this.#reject(reason);
  }

  #end(): void {
    this.#isOver = true;
    this.#cancelTimer();
  }
}

// The client disconnected. The `close` event follows and reports it.
function ignoreError(): void {}

export function tooLarge({ bytes, setting }: BodyLimit, what = "the body"): Refusal {
  return new Refusal({
    status: 413,
    code: "payload_too_large",
    message: `${what} is over the limit of ${bytes} bytes (${setting})`,
  });
}

/** Returns true if the body is empty. Stops reading at the first byte. */
export async function isEmpty(request: IncomingMessage, options: Omit<BodyReading, "limit">): Promise<boolean> {
  try {
    return (await readBody(request, { ...options, limit: { bytes: 0, setting: "" } })) === undefined;
  } catch (error) {
    if (error instanceof Refusal && error.failure.code === "payload_too_large") return false;
    throw error;
  }
}

/** A body that was read, as JSON for the payload. */
export interface BodyText {
  /**
   * JSON text. A JSON body is unchanged, a form is an object of strings, a text is a string; `null` if there is no
   * body.
   */
  readonly json: string;
  /** JSON text of a form's fields with all their values; undefined for other types. */
  readonly form?: string | undefined;
}

export const NO_BODY: BodyText = { json: "null" };

/** Parses a body of this kind. Throws 400 if it is malformed. */
export function bodyText(body: Buffer | undefined, kind: ReadKind): BodyText {
  if (body === undefined) return NO_BODY;
  if (!isUtf8(body)) {
    throw new Refusal({
      status: 400,
      code: kind === "json" ? "invalid_json" : "invalid_request",
      message: "the body is not valid UTF-8",
    });
  }
  const text = body.toString("utf8");
  if (kind === "json") return { json: checkedJson(text) };
  if (kind === "text") return { json: JSON.stringify(text) };
  const form = readUrlEncoded(text);
  if ("problem" in form)
    throw new Refusal({ status: 400, code: "invalid_request", message: `the form ${form.problem}` });
  return { json: JSON.stringify(form.single), form: JSON.stringify(form.all) };
}

function checkedJson(text: string): string {
  const json = text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  try {
    // Only validates: the original text is used, which saves serializing it again.
    JSON.parse(json);
  } catch (cause) {
    const { found, line, column, offset } = findJsonFault(json) as JsonFault;
    throw new Refusal({
      status: 400,
      code: "invalid_json",
      message: `the body is not JSON: unexpected ${found} at line ${line}, column ${column} (position ${offset})`,
      cause,
    });
  }
  // Each level of nesting takes two characters, so a text of at most `2 * MAX_DEPTH` characters needs no check.
  if (json.length > 2 * MAX_DEPTH && nestsDeeperThan(json, MAX_DEPTH)) {
    throw new Refusal({
      status: 400,
      code: "invalid_json",
      message: `the body is nested deeper than ${MAX_DEPTH} levels`,
    });
  }
  return json;
}
