import type { IncomingMessage } from "node:http";
import type { Clock } from "../../../kernel/clock.ts";
import type { ChannelWriter } from "../../../kernel/module.ts";
import type { HttpConfig } from "../config.ts";
import type { RequestHead } from "../request-head.ts";
import type { RouteSettings } from "../routing/route-settings.ts";
import {
  type BodyReading,
  type BodyText,
  bodyText,
  declaredLength,
  isEmpty,
  limitOf,
  NO_BODY,
  readBody,
} from "./body.ts";
import { contentTypeOf, refuseUnread, untyped } from "./body-kind.ts";
import type { FileOffers } from "./file-offers.ts";
import { type BodyListener, sendWhole, streamBody } from "./request-stream.ts";

/** A request's body as its function receives it. */
export interface RequestBody {
  readonly text: BodyText;
  /** JSON text of the list of files of a multipart form; undefined for other bodies. */
  readonly files: string | undefined;
  /**
   * Sends the body to the request's channel when the function reads the channel. A body that was read completely is
   * sent at once; a streamed body is sent as it arrives.
   */
  fill(writer: ChannelWriter, listener: BodyListener): void;
  /** Closes the channels of the files and deletes their data. Undefined if the body is not a multipart form. */
  readonly discard: (() => void) | undefined;
}

export interface RequestBodyOptions {
  readonly request: IncomingMessage;
  readonly head: RequestHead;
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

/**
 * Reads a body completely, or prepares streaming. Throws or rejects with 400, 408, 413 or 415.
 */
export function readRequestBody(taking: RequestBodyOptions): RequestBody | Promise<RequestBody> {
  const { request, head, settings, config, timeoutMs, clock } = taking;
  if (declaredLength(request) === 0) return whole(NO_BODY, undefined);
  const options = {
    limit: limitOf("body_limit_bytes", settings.bodyLimitBytes, config.bodyLimitBytes),
    timeoutMs,
    clock,
  };
  if (settings.streamsBody) {
    contentTypeOf(head.headers.all);
    return streamed(taking);
  }
  if (head.headers.all["content-type"] === undefined) return refuseUnlessEmpty(taking);
  const kind = head.bodyKind(() => taking.takesRawForms());
  if (kind === "raw" || kind === "multipart") {
    if (!settings.streaming) throw refuseUnread(head.headers.all);
    return kind === "raw" ? streamed(taking) : readForm(taking, options);
  }
  return readBody(request, options).then((bytes) => whole(bodyText(bytes, kind), bytes));
}

/** Handles a body without a Content-Type: accepts it if it is empty, otherwise throws 415. */
async function refuseUnlessEmpty({ request, timeoutMs, clock }: RequestBodyOptions): Promise<RequestBody> {
  if (await isEmpty(request, { timeoutMs, clock })) return whole(NO_BODY, undefined);
  throw untyped();
}

async function readForm(taking: RequestBodyOptions, options: BodyReading): Promise<RequestBody> {
  const { request, settings, config, fileOffers, onFileRead } = taking;
  const formLimit = limitOf("form_limit_bytes", settings.formLimitBytes, config.formLimitBytes);
  // The parser is loaded with the first form, because many engines never receive a form.
  const { readMultipart } = await import("./multipart.ts");
  const { text, files, discard } = await readMultipart({ ...options, formLimit, request, fileOffers, onFileRead });
  return { text, files, fill: (writer) => writer.end(), discard };
}

function whole(text: BodyText, bytes: Buffer | undefined): RequestBody {
  return { text, files: undefined, fill: (writer) => sendWhole(writer, bytes), discard: undefined };
}

function streamed({ request, clock, timeoutMs }: RequestBodyOptions): RequestBody {
  return {
    text: NO_BODY,
    files: undefined,
    fill: (writer, listener) => streamBody(request, writer, { clock, timeoutMs, ...listener }),
    discard: undefined,
  };
}
