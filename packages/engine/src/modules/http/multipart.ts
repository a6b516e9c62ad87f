import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { Busboy, type BusboyInstance } from "@fastify/busboy";
import type { Clock } from "../../kernel/clock.ts";
import { type BodyLimit, type BodyText, tooLarge } from "./body.ts";
import { emptyFields } from "./fields.ts";
import type { FileOffers } from "./file-offers.ts";
import { FilePart } from "./file-part.ts";
import { Refusal } from "./refusal.ts";
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
  /** Takes the channels of the files down. */
  discard(): void;
}

export interface MultipartReading {
  readonly request: IncomingMessage;
  /** How many bytes of fields and files may be held in memory. */
  readonly limit: BodyLimit;
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly fileOffers: FileOffers;
}

/**
 * Reads a `multipart/form-data` body: fields as strings, files as channels. A form up to the limit is read whole first. A file
 * that goes over it is streamed while the function runs already, and must then be the last part: what came behind it could not
 * be told any more, so its channel is torn instead. Throws 400, 408 or 413.
 */
export function readMultipart(reading: MultipartReading): Promise<Multipart> {
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
  readonly #reject: (reason: Refusal) => void;
  /** The file that is streamed while the function runs. */
  #streamed: FilePart | undefined;
  #heldBytes = 0;
  #settled = false;
  #cancelTimer: () => void;
  readonly #onClose = (): void => {
    // A request that has come whole closes too, while the parser may still be at it.
    if (!this.#reading.request.complete) this.#fail(illForm("ended before it was complete"));
  };

  constructor(reading: MultipartReading, resolve: (form: Multipart) => void, reject: (reason: Refusal) => void) {
    this.#reading = reading;
    this.#resolve = resolve;
    this.#reject = reject;
    const { request, clock, timeoutMs } = reading;
    this.#parser = parserOf(request, reading.limit.bytes);
    this.#cancelTimer = clock.after(timeoutMs, () => {
      this.#fail(new Refusal({ status: 408, code: "request_timeout", message: `the body did not arrive within ${timeoutMs} ms` }));
    });
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
    request.once("close", this.#onClose).on("error", ignoreError);
    request.pipe(this.#parser);
  }

  #field(name: string | undefined, value: string, isValueCut: boolean): void {
    if (isValueCut) this.#fail(tooLarge(this.#reading.limit));
    if (!this.#mayHave(name)) return;
    this.#hold(Buffer.byteLength(name) + Buffer.byteLength(value));
    this.#fields.single[name] = value;
    const values = this.#fields.all[name];
    if (values === undefined) this.#fields.all[name] = [value];
    else values.push(value);
  }

  #file(name: string | undefined, stream: Readable, facts: { readonly filename: string | undefined; readonly contentType: string }): void {
    stream.on("error", ignoreError);
    if (!this.#mayHave(name)) {
      stream.resume();
      return;
    }
    const filename = facts.filename === undefined || facts.filename === "" ? null : facts.filename;
    const file = new FilePart({ name, filename, contentType: facts.contentType }, stream);
    this.#files.push(file);
    stream.on("data", (bytes: Buffer) => {
      file.push(bytes);
      if (this.#streamed === undefined) this.#hold(bytes.byteLength, file);
    });
    stream.on("end", () => {
      // Of the streamed one it is not known yet whether it is the last.
      if (this.#streamed !== file) file.complete();
    });
  }

  /** False when a part of this name cannot be taken, or none can any more. */
  #mayHave(name: string | undefined): name is string {
    // The parser's types do not say so, but a part need not have one.
    if (name === undefined) this.#fail(illForm("has a part without a name"));
    else if (Buffer.byteLength(name) > MAX_NAME_BYTES) this.#fail(illForm(`has a part whose name is over ${MAX_NAME_BYTES} bytes`));
    if (this.#streamed !== undefined) this.#fail(illForm("has parts behind a file that is over the limit; such a file must come last"));
    return !this.#settled;
  }

  #hold(bytes: number, file?: FilePart): void {
    this.#heldBytes += bytes;
    if (this.#heldBytes <= this.#reading.limit.bytes || this.#settled) return;
    if (file === undefined) this.#fail(tooLarge(this.#reading.limit));
    else this.#stream(file);
  }

  #stream(file: FilePart): void {
    this.#streamed = file;
    this.#settle();
    file.stream({
      pace: (isWaitingForClient) => {
        this.#cancelTimer();
        if (!isWaitingForClient) return;
        this.#cancelTimer = this.#reading.clock.after(BODY_IDLE_MS, () => this.#fail(illForm(`stopped coming for ${BODY_IDLE_MS} ms`)));
      },
      readerGone: () => this.#letGo(),
    });
  }

  #finish(): void {
    this.#letGo();
    if (this.#streamed !== undefined) this.#streamed.complete();
    else this.#settle();
  }

  #settle(): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#cancelTimer();
    const undos = this.#files.map((file) => this.#reading.fileOffers.add(file));
    const files = this.#files.map(
      ({ facts, ref }) =>
        `{"name":${JSON.stringify(facts.name)},"filename":${JSON.stringify(facts.filename)},"content_type":${JSON.stringify(facts.contentType)},"body":${JSON.stringify(ref)}}`,
    );
    this.#resolve({
      text: { json: JSON.stringify(this.#fields.single), form: JSON.stringify(this.#fields.all) },
      files: `[${files.join(",")}]`,
      discard: () => {
        this.#letGo();
        for (const undo of undos) undo();
      },
    });
  }

  #fail(reason: Refusal): void {
    this.#letGo();
    if (this.#settled) {
      this.#streamed?.abort(reason.message);
      return;
    }
    this.#settled = true;
    this.#reject(reason);
  }

  /** Takes no more of the body. */
  #letGo(): void {
    this.#cancelTimer();
    const { request } = this.#reading;
    request.off("close", this.#onClose);
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

function illForm(problem: string, cause?: unknown): Refusal {
  return new Refusal({ status: 400, code: "invalid_request", message: `the form ${problem}`, cause });
}

// A client or a part that breaks off; `close` follows and says so.
function ignoreError(): void {}
