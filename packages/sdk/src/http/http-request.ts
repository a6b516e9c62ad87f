import type { ChannelReader } from "../channels/channel-reader.ts";
import type { ChannelWriter } from "../channels/channel-writer.ts";

/** A part of a multipart body that is a file. */
export interface HttpFile {
  /** Name of the form's field. */
  readonly name: string;
  /**
   * File name that the client sent, without folders. It is for display only, not for paths. Null if the client sent
   * none.
   */
  readonly filename: string | null;
  readonly content_type: string;
  readonly body: ChannelReader;
}

/**
 * Payload of the function of an `http` trigger. `Body` is a type that the author declares. It is validated only if
 * there is a `request_format`.
 */
export interface HttpRequest<Body = unknown> {
  /** Decoded parameters of the path, e.g. `{ id: "7" }` for `/users/:id`. */
  readonly path_params: Readonly<Record<string, string>>;
  /** Query parameters with one value per name. If a name is repeated, it is the last value. */
  readonly query_params: Readonly<Record<string, string>>;
  /** All values of each name. */
  readonly query: Readonly<Record<string, readonly string[]>>;
  /** Headers with names in lower case. Values of repeated headers are joined. */
  readonly headers: Readonly<Record<string, string>>;
  readonly headers_all: Readonly<Record<string, readonly string[]>>;
  readonly cookies: Readonly<Record<string, string>>;
  /** Path of the route as it was registered, for example `/users/:id`. */
  readonly path: string;
  /** Path and query as the client sent them. */
  readonly url: string;
  readonly method: string;
  /**
   * The body. JSON is parsed, a form is an object, and `text/*` is a string. For other content it is null;
   * `request_body` then has the bytes.
   */
  readonly body: Body;
  /** All values of each field of a form (urlencoded or multipart). */
  readonly form?: Readonly<Record<string, readonly string[]>>;
  readonly client_address: string | null;
  /** `http` or `https`, as the client sees it. The next member is the requested host, also as the client sees it. */
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

/** The raw payload of the function: the request, and the channel for a streamed response. */
export interface HttpTriggerPayload<Body = unknown> extends HttpRequest<Body> {
  readonly response?: ChannelWriter;
}
