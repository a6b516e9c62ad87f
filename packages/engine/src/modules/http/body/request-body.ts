import type { IncomingMessage } from "node:http";
import type { Clock } from "../../../kernel/clock.ts";
import type { ChannelWriter } from "../../../kernel/module.ts";
import type { HttpConfig } from "../config.ts";
import type { RouteSettings } from "../routing/route-settings.ts";
import {
  type BodyText,
  bodyKindOf,
  bodyText,
  contentTypeOf,
  declaredLength,
  isEmpty,
  limitOf,
  NO_BODY,
  readBody,
  refuseUnread,
  untyped,
} from "./body.ts";
import type { FileOffers } from "./file-offers.ts";
import { type BodyListener, sendWhole, streamBody } from "./request-stream.ts";

/** A request's body as its function receives it. */
export interface RequestBody {
  readonly text: BodyText;
  /** JSON text of the list of files, for multipart. */
  readonly files: string | undefined;
  /** Fills the request's channel when the function reads it: with the complete body, or as it arrives. */
  fill(writer: ChannelWriter, listener: BodyListener): void;
  /** Closes the channels of files. */
  discard(): void;
}

export interface RequestBodyOptions {
  readonly request: IncomingMessage;
  readonly headers: Readonly<Record<string, string[]>>;
  readonly settings: RouteSettings;
  readonly config: HttpConfig;
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly fileOffers: FileOffers;
  /** Returns true if the function parses multipart forms itself. */
  takesRawForms(): boolean;
  /** Called while the function keeps reading the files of a form. */
  onFileRead(): void;
}

/** Reads a body completely, or prepares streaming. Throws 400, 408, 413 or 415. */
export async function readRequestBody(taking: RequestBodyOptions): Promise<RequestBody> {
  const { request, headers, settings, config, timeoutMs, clock } = taking;
  if (declaredLength(request) === 0) return whole(NO_BODY, undefined);
  const options = {
    limit: limitOf("body_limit_bytes", settings.bodyLimitBytes, config.bodyLimitBytes),
    timeoutMs,
    clock,
  };
  if (settings.streamsBody) {
    contentTypeOf(headers);
    return streamed(taking);
  }
  if (headers["content-type"] === undefined) {
    // An empty body needs no type.
    if (await isEmpty(request, options)) return whole(NO_BODY, undefined);
    throw untyped();
  }
  const kind = bodyKindOf(headers, () => taking.takesRawForms());
  if (kind === "raw" || kind === "multipart") {
    if (!settings.streaming) throw refuseUnread(headers);
    if (kind === "raw") return streamed(taking);
    const formLimit = limitOf("form_limit_bytes", settings.formLimitBytes, config.formLimitBytes);
    const { fileOffers, onFileRead } = taking;
    // Loaded with the first form: many engines never receive one.
    const { readMultipart } = await import("./multipart.ts");
    const { text, files, discard } = await readMultipart({ ...options, formLimit, request, fileOffers, onFileRead });
    return { text, files, fill: (writer) => writer.end(), discard };
  }
  const bytes = await readBody(request, options);
  return whole(bodyText(bytes, kind), bytes);
}

function whole(text: BodyText, bytes: Buffer | undefined): RequestBody {
  return { text, files: undefined, fill: (writer) => sendWhole(writer, bytes), discard: nothing };
}

function streamed({ request, clock, timeoutMs }: RequestBodyOptions): RequestBody {
  return {
    text: NO_BODY,
    files: undefined,
    fill: (writer, listener) => streamBody(request, writer, { clock, timeoutMs, ...listener }),
    discard: nothing,
  };
}

function nothing(): void {}
