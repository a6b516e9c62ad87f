import type { ChannelReader } from "../channels/channel-reader.ts";
import type { ChannelWriter } from "../channels/channel-writer.ts";

/** A part of a multipart body that is a file. */
export interface HttpFile {
  /** Name of the form's field. */
  readonly name: string;
  /** As the client gave it, without folders: for people, not for paths. Null when it gave none. */
  readonly filename: string | null;
  readonly content_type: string;
  readonly body: ChannelReader;
}

/** What an `http` trigger hands to its function. `Body` is what the author expects; nothing checks it but a `request_format`. */
export interface HttpRequest<Body = unknown> {
  /** Decoded parameters of the path, e.g. `{ id: "7" }` for `/users/:id`. */
  readonly path_params: Readonly<Record<string, string>>;
  /** One value per name; of repeated names the last. */
  readonly query_params: Readonly<Record<string, string>>;
  /** All values of each name. */
  readonly query: Readonly<Record<string, readonly string[]>>;
  /** Lower-case names; repeats joined. */
  readonly headers: Readonly<Record<string, string>>;
  readonly headers_all: Readonly<Record<string, readonly string[]>>;
  readonly cookies: Readonly<Record<string, string>>;
  /** The path as registered, e.g. `/users/:id`. */
  readonly path: string;
  /** Path and query as sent. */
  readonly url: string;
  readonly method: string;
  /** JSON as the value, forms as an object, `text/*` as a string, otherwise null: then `request_body` has the bytes. */
  readonly body: Body;
  /** All values of each field of a form, urlencoded or multipart. */
  readonly form?: Readonly<Record<string, readonly string[]>>;
  readonly client_address: string | null;
  /** `http` or `https`, and the host that was asked for, as the client sees them. */
  readonly protocol?: string;
  readonly host?: string | null;
  readonly request_id: string;
  readonly trigger: { readonly type: "http"; readonly path: string; readonly method: string };
  /** What middleware functions added. */
  readonly context?: Readonly<Record<string, unknown>>;
  /** Files of a `multipart/form-data` body. */
  readonly files?: readonly HttpFile[];
  /** The body's bytes; absent on routes with `streaming: false`. */
  readonly request_body?: ChannelReader;
}

/** The payload as it comes: the request, and where a streamed response may be written. */
export interface HttpTriggerPayload<Body = unknown> extends HttpRequest<Body> {
  readonly response?: ChannelWriter;
}
