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
  /** JSON text of the list of files; each has the ref of a channel to read it from. */
  readonly files: string;
  /** Takes the channels of the files down and removes what lies on the disk. */
  discard(): void;
}

export interface MultipartReading {
  readonly request: IncomingMessage;
  /** How many bytes of fields and files may be held in memory; files that do not fit go to the disk. */
  readonly limit: BodyLimit;
  /** How large the form may be, on the wire. */
  readonly formLimit: BodyLimit;
  /** How long the form may take to come; it begins anew while the form keeps coming. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly fileOffers: FileOffers;
  /** The function is getting on with the files. */
  onFileRead(): void;
}

/**
 * Reads a `multipart/form-data` body to its end: fields as strings, files as channels, in any order. Throws 400, 408 or 413, and 503 when
 * the disk does not take it.
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
  /** How the function gets on with the files. */
  #readPace: BodyPace | undefined;
  readonly #cancelTimer: () => void;
  #deadlineAt: number;
  #cameAt: number;
  /** Bytes of the body so far. */
  #bytes = 0;
  #fieldBytes = 0;
  /** Bytes of files that are held in memory. */
  #heldBytes = 0;
  #spool: FormSpool | undefined;
  /** What was held is on the disk. */
  #spilled: Promise<unknown> = Promise.resolve();
  #settled = false;
  readonly #onData = (chunk: Buffer): void => this.#came(chunk.byteLength);
  readonly #onClose = (): void => {
    // A request that has come whole closes too, while the parser may still be at it.
    if (!this.#reading.request.complete) this.#fail(illForm("ended before it was complete"));
  };

  constructor(reading: MultipartReading, resolve: (form: Multipart) => void, reject: (reason: unknown) => void) {
    this.#reading = reading;
    this.#resolve = resolve;
    this.#reject = reject;
    const { request, clock, timeoutMs } = reading;
    this.#parser = parserOf(request, reading.limit.bytes);
    this.#cameAt = clock.monotonic();
    this.#deadlineAt = this.#cameAt + timeoutMs;
    this.#pace = new BodyPace({ clock, timeoutMs, onMoved: () => this.#moved() });
    this.#pace.waits();
    this.#cancelTimer = atDeadline(
      clock,
      () => Math.min(this.#deadlineAt, this.#cameAt + BODY_IDLE_MS),
      () => this.#fail(tooSlow(timeoutMs)),
    );
    this.#parser.on("field", (name, value, _isNameCut, isValueCut) => this.#field(name, value, isValueCut));
    this.#parser.on("file", (name, stream, filename, _encoding, contentType) => this.#file(name, stream, { filename, contentType }));
    this.#parser.on("finish", () => this.#finish());
    this.#parser.on("error", (cause: unknown) => this.#fail(illForm("is not well-formed", cause)));
    for (const [event, what] of [
      ["fieldsLimit", `more than ${MAX_FIELDS} fields`],
      ["filesLimit", `more than ${MAX_FILES} files`],
      ["partsLimit", "too many parts"],
    ] as const) {
      this.#parser.on(event, () => this.#fail(new Refusal({ status: 413, code: "payload_too_large", message: `the form has ${what}` })));
    }
    request.once("close", this.#onClose).on("error", ignoreError).on("data", this.#onData);
    request.pipe(this.#parser);
  }

  #came(bytes: number): void {
    this.#cameAt = this.#reading.clock.monotonic();
    this.#bytes += bytes;
    if (this.#bytes > this.#reading.formLimit.bytes) {
      this.#fail(tooLarge(this.#reading.formLimit, "the form"));
      return;
    }
    this.#pace.came(bytes);
    this.#pace.passed();
    this.#pace.waits();
  }

  #moved(): void {
    this.#deadlineAt = this.#reading.clock.monotonic() + this.#reading.timeoutMs;
  }

  #field(name: string | undefined, value: string, isValueCut: boolean): void {
    if (!this.#mayHave(name)) return;
    this.#fieldBytes += Buffer.byteLength(name) + Buffer.byteLength(value);
    const { limit } = this.#reading;
    if (isValueCut || this.#fieldBytes > limit.bytes) {
      this.#fail(tooLarge(limit, "what the form says beside its files"));
      return;
    }
    if (this.#fieldBytes + this.#heldBytes > limit.bytes) this.#spill();
    this.#fields.single[name] = value;
    const values = this.#fields.all[name];
    if (values === undefined) this.#fields.all[name] = [value];
    else values.push(value);
  }

  #file(name: string | undefined, stream: Readable, facts: { readonly filename: string | undefined; readonly contentType: string }): void {
    stream.on("error", (cause: unknown) => this.#fail(illForm("is not well-formed", cause)));
    if (!this.#mayHave(name)) {
      stream.resume();
      return;
    }
    const filename = facts.filename === undefined || facts.filename === "" ? null : facts.filename;
    const file = new FilePart({ name, filename, contentType: facts.contentType }, (bytes) => this.#fileRead(bytes));
    this.#files.push(file);
    stream.on("data", (bytes: Buffer) => this.#take(file, bytes, stream));
  }

  /** False when a part of this name cannot be taken, or none can any more. */
  #mayHave(name: string | undefined): name is string {
    // The parser's types do not say so, but a part need not have one.
    if (name === undefined) this.#fail(illForm("has a part without a name"));
    else if (Buffer.byteLength(name) > MAX_NAME_BYTES) this.#fail(illForm(`has a part whose name is over ${MAX_NAME_BYTES} bytes`));
    return !this.#settled;
  }

  /** Holds a piece of a file while all of them fit; from then on they go to the disk, and the client waits for it. */
  #take(file: FilePart, bytes: Buffer, stream: Readable): void {
    if (this.#settled) return;
    if (this.#spool === undefined && this.#fieldBytes + this.#heldBytes + bytes.byteLength <= this.#reading.limit.bytes) {
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

  /** Moves what is held of files to the disk. */
  #spill(): FormSpool {
    if (this.#spool !== undefined) return this.#spool;
    const spool = this.#reading.fileOffers.spools.create();
    this.#spool = spool;
    this.#heldBytes = 0;
    this.#spilled = Promise.all(this.#files.map(({ content }) => content.spill(spool)));
    this.#spilled.catch((error: unknown) => this.#fail(error));
    return spool;
  }

  /** The last piece of every file is in its place by now: a file's end is heard only after it. */
  #finish(): void {
    this.#letGo();
    this.#spilled.then(
      () => this.#settle(),
      // Heard where it was spilled.
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
    this.#readPace?.came(bytes);
    this.#readPace?.passed();
  }

  #fail(reason: unknown): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#letGo();
    this.#spool?.remove();
    this.#reject(reason);
  }

  /** Takes no more of the body. */
  #letGo(): void {
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
    throw illForm("names no boundary", cause);
  }
}

function tooSlow(timeoutMs: number): Refusal {
  const message = `the form did not keep coming: ${MIN_BODY_RATE} bytes per second are expected, within ${timeoutMs} ms`;
  return new Refusal({ status: 408, code: "request_timeout", message });
}

function illForm(problem: string, cause?: unknown): Refusal {
  return new Refusal({ status: 400, code: "invalid_request", message: `the form ${problem}`, cause });
}

// A client or a part that breaks off; `close` follows and says so.
function ignoreError(): void {}
