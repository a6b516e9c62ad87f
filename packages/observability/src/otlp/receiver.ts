import type { IncomingMessage, ServerResponse } from "node:http";
import type { Directory, ModuleListener, Signal } from "@svc-runtime/engine/module";
import { DROP_SIGNALS, type DropCounter } from "../telemetry-records.ts";
import { type Ingest, type IngestOutcome, parseJsonBody, TooMuchError } from "./ingest.ts";
import { ProtobufError, readMessage, writeMessage } from "./protobuf.ts";
import { BodyError, readBody } from "./request-body.ts";
import { type MessageSchema, REJECTED, REQUESTS, RESPONSES, RPC_STATUS } from "./schema.ts";
import { workersAt } from "./worker-frames.ts";

const SIGNALS: ReadonlyMap<string, Signal> = new Map([
  ["/v1/traces", "traces"],
  ["/v1/logs", "logs"],
  ["/v1/metrics", "metrics"],
]);
/** Maximum number of concurrent requests. The limit is low, because the body of each may take 16 MiB. */
const MAX_REQUESTS = 16;
const RETRY_AFTER_SECONDS = 5;
/** Error codes of `google.rpc.Code`. */
const INVALID_ARGUMENT = 3;
const RESOURCE_EXHAUSTED = 8;
const UNAVAILABLE = 14;

type Encoding = "json" | "protobuf";
const CONTENT_TYPES: Readonly<Record<Encoding, string>> = {
  json: "application/json",
  protobuf: "application/x-protobuf",
};
export interface ReceiverParts {
  readonly ingest: Ingest;
  readonly directory: Pick<Directory, "workerById">;
  readonly drops: DropCounter;
}

/** OTLP over HTTP (https://opentelemetry.io/docs/specs/otlp/#otlphttp), as protobuf or JSON, with optional gzip. */
export class OtlpReceiver {
  readonly #parts: ReceiverParts;
  #reading = 0;
  #accepted = 0;
  #refused = 0;

  constructor(parts: ReceiverParts) {
    this.#parts = parts;
  }

  /** Number of records since the start. A rejected request counts as one refused record. */
  get counts(): { readonly accepted: number; readonly refused: number } {
    return { accepted: this.#accepted, refused: this.#refused };
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? "/").split("?", 1)[0] ?? "/";
    const signal = SIGNALS.get(path);
    if (signal === undefined)
      return this.#refuse(
        request,
        response,
        "json",
        404,
        INVALID_ARGUMENT,
        `not found; the OTLP paths are ${[...SIGNALS.keys()].join(", ")}`,
      );
    if (request.method !== "POST") {
      response.setHeader("allow", "POST");
      return this.#refuse(request, response, "json", 405, INVALID_ARGUMENT, `${path} accepts only POST`);
    }
    const encoding = encodingOf(request.headers["content-type"]);
    if (encoding === undefined) {
      return this.#refuse(
        request,
        response,
        "json",
        415,
        INVALID_ARGUMENT,
        "the content type must be application/x-protobuf or application/json",
      );
    }
    if (this.#reading >= MAX_REQUESTS)
      return this.#refuseForNow(request, response, encoding, signal, 429, "too many concurrent requests");
    this.#reading += 1;
    try {
      const body = await readBody(request);
      await this.#take(request, response, signal, encoding, body);
    } catch (error) {
      if (!(error instanceof BodyError)) throw error;
      this.#parts.drops.dropped(DROP_SIGNALS[signal], `receiver_${error.status}`, 1);
      this.#refuse(request, response, encoding, error.status, INVALID_ARGUMENT, error.message);
    } finally {
      this.#reading -= 1;
    }
  }

  async #take(
    request: IncomingMessage,
    response: ServerResponse,
    signal: Signal,
    encoding: Encoding,
    body: Buffer,
  ): Promise<void> {
    const address = request.socket.remoteAddress;
    const outcome = await new Promise<IngestOutcome | undefined>((resolve) => {
      const isTaken = this.#parts.ingest.offer(`otlp ${address ?? ""}`, {
        signal,
        bytes: body.length,
        origin: { worker: undefined, isFrame: false, mayBeWorker: workersAt(this.#parts.directory, address) },
        parse: () => (encoding === "json" ? parseJsonBody(body) : readProtobuf(body, REQUESTS[signal])),
        onDone: resolve,
      });
      if (!isTaken) resolve(undefined);
    });
    if (outcome === undefined)
      return this.#refuseForNow(
        request,
        response,
        encoding,
        signal,
        503,
        "the engine cannot process telemetry as fast as it arrives",
      );
    if (outcome.kind !== "read") {
      const [status, code] = outcome.kind === "too_much" ? [413, RESOURCE_EXHAUSTED] : [400, INVALID_ARGUMENT];
      return this.#refuse(request, response, encoding, status, code, outcome.message);
    }
    this.#accepted += outcome.accepted;
    this.#refused += outcome.refused;
    const partialSuccess = {
      [REJECTED[signal]]: String(outcome.refused),
      errorMessage: `${outcome.refused} records were malformed`,
    };
    send(response, encoding, 200, outcome.refused === 0 ? {} : { partialSuccess }, RESPONSES[signal]);
  }

  #refuseForNow(
    request: IncomingMessage,
    response: ServerResponse,
    encoding: Encoding,
    signal: Signal,
    status: 429 | 503,
    message: string,
  ): void {
    this.#parts.drops.dropped(DROP_SIGNALS[signal], "receiver_busy", 1);
    response.setHeader("retry-after", String(RETRY_AFTER_SECONDS));
    this.#refuse(request, response, encoding, status, status === 429 ? RESOURCE_EXHAUSTED : UNAVAILABLE, message);
  }

  #refuse(
    request: IncomingMessage,
    response: ServerResponse,
    encoding: Encoding,
    status: number,
    code: number,
    message: string,
  ): void {
    this.#refused += 1;
    // The rest of the request body is not read, so the connection cannot be reused.
    if (!request.complete) response.setHeader("connection", "close");
    send(response, encoding, status, { code, message }, RPC_STATUS);
  }
}

export async function openReceiver(
  listen: (options: {
    host: string;
    port: number;
    what: string;
    onRequest: OtlpReceiver["handle"];
  }) => Promise<ModuleListener>,
  address: { readonly host: string; readonly port: number },
  parts: ReceiverParts,
): Promise<{ readonly receiver: OtlpReceiver; readonly listener: ModuleListener }> {
  const receiver = new OtlpReceiver(parts);
  const listener = await listen({
    ...address,
    what: "OTLP",
    onRequest: (request, response) => receiver.handle(request, response),
  });
  return { receiver, listener };
}

function readProtobuf(body: Buffer, schema: MessageSchema): unknown {
  try {
    return readMessage(body, schema);
  } catch (error) {
    throw error instanceof ProtobufError && error.isOverLimit ? new TooMuchError(error.message) : error;
  }
}

function encodingOf(contentType: string | undefined): Encoding | undefined {
  const type = contentType?.split(";", 1)[0]?.trim().toLowerCase();
  if (type === CONTENT_TYPES.json) return "json";
  return type === CONTENT_TYPES.protobuf || type === "application/protobuf" ? "protobuf" : undefined;
}

/** Sends a response in the same encoding as the request. */
function send(
  response: ServerResponse,
  encoding: Encoding,
  status: number,
  message: object,
  schema: MessageSchema,
): void {
  const body = encoding === "json" ? Buffer.from(JSON.stringify(message)) : writeMessage(message, schema);
  response.writeHead(status, {
    "content-type": CONTENT_TYPES[encoding],
    "content-length": body.length,
    "x-content-type-options": "nosniff",
  });
  response.end(body);
}
