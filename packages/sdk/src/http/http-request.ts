import type { ChannelReader } from "../channels/channel-reader.ts";
import type { ChannelWriter } from "../channels/channel-writer.ts";

/** A part of a multipart body that is a file. */
export interface HttpFile {
  /** Name of the form's field. */
  readonly name: string;
  /** The client's name for the file, without folders. For display, not for paths. Null if the client sent none. */
  readonly filename: string | null;
  readonly content_type: string;
  readonly body: ChannelReader;
}

/**
 * Payload of the function of an `http` trigger. `Body` is the author's declaration. Only a `request_format` validates
 * it.
 */
export interface HttpRequest<Body = unknown> {
  /** Decoded parameters of the path, e.g. `{ id: "7" }` for `/users/:id`. */
  readonly path_params: Readonly<Record<string, string>>;
  /** One value per name, the last of repeated names. */
  readonly query_params: Readonly<Record<string, string>>;
  /** All values of each name. */
  readonly query: Readonly<Record<string, readonly string[]>>;
  /** Names in lower case. Repeated headers are joined. */
  readonly headers: Readonly<Record<string, string>>;
  readonly headers_all: Readonly<Record<string, readonly string[]>>;
  readonly cookies: Readonly<Record<string, string>>;
  /** The path as registered, e.g. `/users/:id`. */
  readonly path: string;
  /** Path and query as sent. */
  readonly url: string;
  readonly method: string;
  /**
   * JSON bodies parsed, forms as an object, `text/*` as a string. Otherwise null: then `request_body` has the bytes.
   */
  readonly body: Body;
  /** All values of each form field, urlencoded or multipart. */
  readonly form?: Readonly<Record<string, readonly string[]>>;
  readonly client_address: string | null;
  /** `http` or `https`, and the requested host, both as the client sees them. */
  readonly protocol?: string;
  readonly host?: string | null;
  readonly request_id: string;
  readonly trigger: { readonly type: "http"; readonly path: string; readonly method: string };
  /** Members that middleware functions added. */
  readonly context?: Readonly<Record<string, unknown>>;
  /** Files of a `multipart/form-data` body. */
  readonly files?: readonly HttpFile[];
  /** The body's bytes. Absent on routes with `streaming: false`. */
  readonly request_body?: ChannelReader;
}

/** The raw payload: the request, and the channel for a streamed response. */
export interface HttpTriggerPayload<Body = unknown> extends HttpRequest<Body> {
  readonly response?: ChannelWriter;
}
