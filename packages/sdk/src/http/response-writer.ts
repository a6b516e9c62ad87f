import { CallError } from "@svc-runtime/protocol/client";
import type { ChannelWriter } from "../channels/channel-writer.ts";
import { checkedStatus, type HttpHeaders, type HttpResponse } from "./http-response.ts";
import { eventText, type ServerSentEvent } from "./server-sent-event.ts";

const encoder = new TextEncoder();

/**
 * A streamed response: first status and headers, then the body in chunks. Handlers that return the response do not need
 * it. It connects at the first chunk.
 */
export class ResponseWriter {
  readonly #channel: ChannelWriter | undefined;
  #status: number | undefined;
  #headers: Record<string, string | readonly string[]> = Object.create(null);
  #hasBegun = false;
  #stream: WritableStream<string | Uint8Array> | undefined;

  /** Internal: created by `http`. */
  constructor(channel: ChannelWriter | undefined) {
    this.#channel = channel;
  }

  /** True if a chunk was written or the response was ended. The return value of the handler is then ignored. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /**
   * Sets the status. Default 200.
   *
   * @throws TypeError for a status outside of 200 to 599, and if the body has begun.
   */
  status(status: number): this {
    this.#requireHead("the status");
    this.#status = checkedStatus(status);
    return this;
  }

  /**
   * Adds headers. A header that was set before is replaced.
   *
   * @throws TypeError if the body has begun.
   */
  headers(headers: HttpHeaders): this {
    this.#requireHead("headers");
    for (const [name, value] of Object.entries(headers)) this.#headers[name.toLowerCase()] = value;
    return this;
  }

  /**
   * Writes a chunk of the body. A string is encoded as UTF-8. Status and headers are sent before the first chunk; an
   * empty first chunk sends only these. Resolves when there is room for the next chunk. Rejects with `channel_closed`
   * if the client disconnected.
   */
  async write(chunk: string | Uint8Array): Promise<void> {
    const channel = this.#requireChannel();
    const bytes = typeof chunk === "string" ? encoder.encode(chunk) : chunk;
    const head = this.#begin(channel);
    await Promise.all([head, channel.write(bytes)]);
  }

  /**
   * Writes a server-sent event. The first event sets the headers `content-type: text/event-stream` and `cache-control:
   * no-cache`, unless the handler has set them.
   */
  async sse(event: ServerSentEvent): Promise<void> {
    const text = eventText(event);
    if (!this.#hasBegun) {
      this.#headers["content-type"] ??= "text/event-stream";
      this.#headers["cache-control"] ??= "no-cache";
    }
    await this.write(text);
  }

  /** The body as a web stream. It is always the same object. */
  get stream(): WritableStream<string | Uint8Array> {
    this.#stream ??= new WritableStream({
      write: (chunk) => this.write(chunk),
      close: () => this.end(),
      abort: () => this.abort(),
    });
    return this.#stream;
  }

  /** Ends the response, with an empty body if no chunk was written. `http` calls it when the handler returns. */
  async end(): Promise<void> {
    const channel = this.#requireChannel();
    const head = this.#begin(channel);
    await Promise.all([head, channel.end()]);
  }

  /** Aborts the response, so that the client sees that it is incomplete. */
  abort(): void {
    this.#hasBegun = true;
    this.#channel?.abort();
  }

  /** Returns the handler's result with the status and headers that were set here. `http` calls it. */
  complete(result: unknown): HttpResponse {
    const { status_code, headers, body } = responseOf(result);
    return {
      status_code: status_code ?? this.#status ?? 200,
      headers: { ...this.#headers, ...lowerCased(headers) },
      body,
    };
  }

  get hasHead(): boolean {
    return this.#status !== undefined || Object.keys(this.#headers).length > 0;
  }

  async #begin(channel: ChannelWriter): Promise<void> {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    const sends: Promise<void>[] = [];
    if (this.#status !== undefined)
      sends.push(channel.send(JSON.stringify({ type: "set_status", status_code: this.#status })));
    if (Object.keys(this.#headers).length > 0)
      sends.push(channel.send(JSON.stringify({ type: "set_headers", headers: this.#headers })));
    await Promise.all(sends);
  }

  #requireHead(what: string): void {
    if (this.#hasBegun) throw new TypeError(`${what} cannot be set any more: the body has begun`);
  }

  #requireChannel(): ChannelWriter {
    if (this.#channel !== undefined) return this.#channel;
    throw new CallError(
      "invalid_input",
      "this call has no channel for a response (the route has streaming: false, or the call is no HTTP request); return the response instead",
    );
  }
}

const RESPONSE_KEYS: ReadonlySet<string> = new Set(["status_code", "headers", "body"]);

/**
 * Returns a result as a response, by the engine's rule for results. A result that is not a response becomes the body.
 */
function responseOf(result: unknown): HttpResponse {
  if (typeof result !== "object" || result === null || Array.isArray(result)) return { body: result };
  const keys = Object.keys(result);
  const isResponse =
    "status_code" in result
      ? typeof result.status_code === "number"
      : keys.length > 0 && keys.every((key) => RESPONSE_KEYS.has(key));
  return isResponse ? (result as HttpResponse) : { body: result };
}

function lowerCased(headers: HttpHeaders | undefined): HttpHeaders {
  return Object.fromEntries(Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]));
}
