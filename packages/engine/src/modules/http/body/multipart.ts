import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { Busboy, type BusboyInstance } from "@fastify/busboy";
import type { Clock } from "../../../kernel/clock.ts";
import { emptyFields } from "../fields.ts";
import { Refusal } from "../refusal.ts";
import { type BodyLimit, type BodyText, declaredLength, tooLarge } from "./body.ts";
import { atDeadline, BodyPace, MIN_BODY_RATE } from "./body-pace.ts";
import type { FileOffers } from "./file-offers.ts";
import { FilePart } from "./file-part.ts";
import type { FormSpool } from "./form-spool.ts";
import { BODY_IDLE_MS } from "./request-stream.ts";

/** Limits of one form. */
const MAX_FIELDS = 1_000;
const MAX_FILES = 100;
const MAX_NAME_BYTES = 256;
const MAX_PART_HEADERS = 32;
const MAX_PART_HEADER_BYTES = 8 * 1024;

export interface Multipart {
  readonly text: BodyText;
  /** JSON text of the list of files, each with the ref of a channel to read it from. */
  readonly files: string;
  /** Closes the channels of the files and deletes their data on the disk. */
  discard(): void;
}

export interface MultipartReading {
  readonly request: IncomingMessage;
  /** Maximum bytes of fields and files in memory. Files that do not fit are written to the disk. */
  readonly limit: BodyLimit;
  /** Maximum size of the form on the wire. */
  readonly formLimit: BodyLimit;
  /** Time limit for receiving the form, in milliseconds. Restarts while the form keeps moving. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly fileOffers: FileOffers;
  /** Called while the function keeps reading the files. */
  onFileRead(): void;
}

/**
 * Reads a `multipart/form-data` body completely: fields as strings, files as channels, in any order. Throws 400, 408 or
 * 413, and 503 if the disk fails or is full.
 */
export async function readMultipart(reading: MultipartReading): Promise<Multipart> {
  const length = declaredLength(reading.request);
  if (length !== undefined && length > reading.formLimit.bytes) throw tooLarge(reading.formLimit, "the form");
  return new Promise((resolve, reject) => {
    new FormReader(reading, resolve, reject);
  });
}

class FormReader {
  readonly #reading: MultipartReading;
  readonly #parser: BusboyInstance;
  readonly #fields = emptyFields();
  readonly #files: FilePart[] = [];
  readonly #resolve: (form: Multipart) => void;
  readonly #reject: (reason: unknown) => void;
  readonly #pace: BodyPace;
  /** Tracks how fast the function reads the files. */
  #readPace: BodyPace | undefined;
  readonly #cancelTimer: () => void;
  #deadlineAt: number;
  #receivedAt: number;
  /** Number of received bytes. */
  #bytes = 0;
  #fieldBytes = 0;
  /** Bytes of files in memory. */
  #heldBytes = 0;
  #spool: FormSpool | undefined;
  /** Settles when the content in memory has been written to the disk. */
  #spilled: Promise<unknown> = Promise.resolve();
  #settled = false;
  readonly #onData = (chunk: Buffer): void => this.#received(chunk.byteLength);
  readonly #onClose = (): void => {
    // A request that arrived completely also emits `close`, perhaps while the parser is still working. This is no
    // failure.
    if (!this.#reading.request.complete) this.#fail(malformedForm("ended before it was complete"));
  };

  constructor(reading: MultipartReading, resolve: (form: Multipart) => void, reject: (reason: unknown) => void) {
    this.#reading = reading;
    this.#resolve = resolve;
    this.#reject = reject;
    const { request, clock, timeoutMs } = reading;
    this.#parser = parserOf(request, reading.limit.bytes);
    this.#receivedAt = clock.monotonic();
    this.#deadlineAt = this.#receivedAt + timeoutMs;
    this.#pace = new BodyPace({ clock, timeoutMs, onMoved: () => this.#moved() });
    this.#pace.startWaiting();
    this.#cancelTimer = atDeadline(
      clock,
      () => Math.min(this.#deadlineAt, this.#receivedAt + BODY_IDLE_MS),
      () => this.#fail(tooSlow(timeoutMs)),
    );
    this.#parser.on("field", (name, value, _isNameCut, isValueCut) => this.#field(name, value, isValueCut));
    this.#parser.on("file", (name, stream, filename, _encoding, contentType) =>
      this.#file(name, stream, { filename, contentType }),
    );
    this.#parser.on("finish", () => this.#finish());
    this.#parser.on("error", (cause: unknown) => this.#fail(malformedForm("is not well-formed", cause)));
    for (const [event, what] of [
      ["fieldsLimit", `more than ${MAX_FIELDS} fields`],
      ["filesLimit", `more than ${MAX_FILES} files`],
      ["partsLimit", "too many parts"],
    ] as const) {
      this.#parser.on(event, () =>
        this.#fail(new Refusal({ status: 413, code: "payload_too_large", message: `the form has ${what}` })),
      );
    }
    request.once("close", this.#onClose).on("error", ignoreError).on("data", this.#onData);
    request.pipe(this.#parser);
  }

  #received(bytes: number): void {
    this.#receivedAt = this.#reading.clock.monotonic();
    this.#bytes += bytes;
    if (this.#bytes > this.#reading.formLimit.bytes) {
      this.#fail(tooLarge(this.#reading.formLimit, "the form"));
      return;
    }
    this.#pace.received(bytes);
    this.#pace.handedOn();
    this.#pace.startWaiting();
  }

  #moved(): void {
    this.#deadlineAt = this.#reading.clock.monotonic() + this.#reading.timeoutMs;
  }

  #field(name: string | undefined, value: string, isValueCut: boolean): void {
    if (!this.#isAllowedName(name)) return;
    this.#fieldBytes += Buffer.byteLength(name) + Buffer.byteLength(value);
    const { limit } = this.#reading;
    if (isValueCut || this.#fieldBytes > limit.bytes) {
      this.#fail(tooLarge(limit, "the fields of the form"));
      return;
    }
    if (this.#fieldBytes + this.#heldBytes > limit.bytes) this.#spill();
    this.#fields.single[name] = value;
    const values = this.#fields.all[name];
    if (values === undefined) this.#fields.all[name] = [value];
    else values.push(value);
  }

  #file(
    name: string | undefined,
    stream: Readable,
    facts: { readonly filename: string | undefined; readonly contentType: string },
  ): void {
    stream.on("error", (cause: unknown) => this.#fail(malformedForm("is not well-formed", cause)));
    if (!this.#isAllowedName(name)) {
      stream.resume();
      return;
    }
    const filename = facts.filename === undefined || facts.filename === "" ? null : facts.filename;
    const file = new FilePart(
      { name, filename, contentType: facts.contentType },
      this.#reading.fileOffers.newChannelId(),
      (bytes) => this.#fileRead(bytes),
    );
    this.#files.push(file);
    stream.on("data", (bytes: Buffer) => this.#addPiece(file, bytes, stream));
  }

  /** Returns false if a part with this name is not allowed, or if the form has failed. */
  #isAllowedName(name: string | undefined): name is string {
    // A part may lack a name, although the parser's types do not say so.
    if (name === undefined) this.#fail(malformedForm("has a part without a name"));
    else if (Buffer.byteLength(name) > MAX_NAME_BYTES)
      this.#fail(malformedForm(`has a part whose name is over ${MAX_NAME_BYTES} bytes`));
    return !this.#settled;
  }

  /**
   * Keeps the files in memory as long as all files of the form fit. When they no longer fit, all of them are written to
   * the disk, with backpressure to the client.
   */
  #addPiece(file: FilePart, bytes: Buffer, stream: Readable): void {
    if (this.#settled) return;
    if (
      this.#spool === undefined &&
      this.#fieldBytes + this.#heldBytes + bytes.byteLength <= this.#reading.limit.bytes
    ) {
      this.#heldBytes += bytes.byteLength;
      file.content.hold(bytes);
      return;
    }
    stream.pause();
    file.content.append(this.#spill(), bytes).then(
      () => stream.resume(),
      (error: unknown) => this.#fail(error),
    );
  }

  /** Moves the files in memory to the disk. */
  #spill(): FormSpool {
    if (this.#spool !== undefined) return this.#spool;
    const spool = this.#reading.fileOffers.spools.create();
    this.#spool = spool;
    this.#heldBytes = 0;
    this.#spilled = Promise.all(this.#files.map(({ content }) => content.spill(spool)));
    this.#spilled.catch((error: unknown) => this.#fail(error));
    return spool;
  }

  /**
   * Called when the parser has processed the whole form. All pieces of the files have been appended before, because the
   * parser waits for the end of each file.
   */
  #finish(): void {
    this.#stopReading();
    this.#spilled.then(
      () => this.#settle(),
      // Reported in `#spill`.
      () => {},
    );
  }

  #settle(): void {
    if (this.#settled) return;
    this.#settled = true;
    const { clock, timeoutMs, onFileRead } = this.#reading;
    this.#readPace = new BodyPace({ clock, timeoutMs, onMoved: onFileRead });
    const undos = this.#files.map((file) => this.#reading.fileOffers.add(file));
    this.#resolve({
      text: { json: JSON.stringify(this.#fields.single), form: JSON.stringify(this.#fields.all) },
      files: `[${this.#files.map(({ json }) => json).join(",")}]`,
      discard: () => {
        for (const undo of undos) undo();
        this.#spool?.remove();
      },
    });
  }

  #fileRead(bytes: number): void {
    this.#readPace?.received(bytes);
    this.#readPace?.handedOn();
  }

  #fail(reason: unknown): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#stopReading();
    this.#spool?.remove();
    this.#reject(reason);
  }

  /** Stops reading the body. */
  #stopReading(): void {
    this.#cancelTimer();
    const { request } = this.#reading;
    request.off("close", this.#onClose).off("data", this.#onData);
    request.unpipe(this.#parser);
    if (!request.complete) request.pause();
  }
}

function parserOf(request: IncomingMessage, limitBytes: number): BusboyInstance {
  try {
    return new Busboy({
      headers: { ...request.headers, "content-type": request.headers["content-type"] ?? "" },
      limits: {
        fieldNameSize: MAX_NAME_BYTES + 1,
        fieldSize: limitBytes,
        fields: MAX_FIELDS,
        files: MAX_FILES,
        parts: MAX_FIELDS + MAX_FILES,
        headerPairs: MAX_PART_HEADERS,
        headerSize: MAX_PART_HEADER_BYTES,
      },
    });
  } catch (cause) {
    throw malformedForm("names no boundary", cause);
  }
}

function tooSlow(timeoutMs: number): Refusal {
  const message = `the form stopped moving: ${MIN_BODY_RATE} bytes per second are expected, within ${timeoutMs} ms`;
  return new Refusal({ status: 408, code: "request_timeout", message });
}

function malformedForm(problem: string, cause?: unknown): Refusal {
  return new Refusal({ status: 400, code: "invalid_request", message: `the form ${problem}`, cause });
}

// The client disconnected or a part ended early. The `close` event follows and reports it.
function ignoreError(): void {}
