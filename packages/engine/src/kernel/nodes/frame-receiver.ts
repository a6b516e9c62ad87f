import { MAX_NODE_FRAME_BYTES, type NodePiece, nodePieceBytes } from "@svc-runtime/protocol/nodes";
import { INITIAL_GRANT_BYTES } from "./frame-sender.ts";

/** `new`: its frames were passed on. `duplicate`: it arrived before. `gap`: a message before it is missing. */
export type Arrival = "new" | "duplicate" | "gap";

/** The incoming frames of one session: passes each on once and in order, whatever the link loses or repeats. */
export class FrameReceiver {
  readonly #onFrame: (frame: Uint8Array) => void;
  readonly #windowBytes: () => number;
  #lastN = 0;
  #consumedBytes = 0;
  #granted = INITIAL_GRANT_BYTES;
  #partial: Uint8Array[] = [];
  #partialBytes = 0;

  /** `windowBytes`: how many bytes the sender may send ahead of what was passed on. */
  constructor(onFrame: (frame: Uint8Array) => void, windowBytes: () => number) {
    this.#onFrame = onFrame;
    this.#windowBytes = windowBytes;
  }

  /** Number of the last message that arrived in order. */
  get lastN(): number {
    return this.#lastN;
  }

  /** Bytes that the sender may have sent in all. Never falls. */
  get granted(): number {
    this.#granted = Math.max(this.#granted, this.#consumedBytes + this.#windowBytes());
    return this.#granted;
  }

  /** Throws an Error with a sentence if the sender breaks the protocol. */
  receive(n: number, pieces: readonly NodePiece[]): Arrival {
    if (n <= this.#lastN) return "duplicate";
    if (n > this.#lastN + 1) return "gap";
    this.#lastN = n;
    for (const piece of pieces) {
      this.#consumedBytes += nodePieceBytes(piece);
      this.#take(piece);
    }
    return "new";
  }

  #take({ isLast, bytes }: NodePiece): void {
    if (isLast && this.#partial.length === 0) {
      this.#onFrame(bytes);
      return;
    }
    this.#partialBytes += bytes.length;
    if (this.#partialBytes > MAX_NODE_FRAME_BYTES)
      throw new Error(`a frame has more than ${MAX_NODE_FRAME_BYTES} bytes`);
    this.#partial.push(bytes);
    if (!isLast) return;
    const frame = Buffer.concat(this.#partial);
    this.#partial = [];
    this.#partialBytes = 0;
    this.#onFrame(frame);
  }
}
