import { MAX_NODE_FRAME_BYTES, type NodePiece, nodePieceBytes } from "@svc-runtime/protocol/nodes";
import { INITIAL_GRANT_BYTES } from "./frame-sender.ts";

/**
 * Result for a received message. `new`: its frames were passed on. `duplicate`: the message arrived before. `gap`: an
 * earlier message has not arrived.
 */
export type Arrival = "new" | "duplicate" | "gap";

/** Receives the frames of one session. Passes each on once and in order, even if the link loses or repeats messages. */
export class FrameReceiver {
  readonly #onFrame: (frame: Uint8Array) => void;
  readonly #windowBytes: () => number;
  #lastN = 0;
  #consumedBytes = 0;
  #granted = INITIAL_GRANT_BYTES;
  #partial: Uint8Array[] = [];
  #partialBytes = 0;

  /** `windowBytes` returns how many bytes the sender may send beyond the bytes that were passed on. */
  constructor(onFrame: (frame: Uint8Array) => void, windowBytes: () => number) {
    this.#onFrame = onFrame;
    this.#windowBytes = windowBytes;
  }

  /** Number of the last message that arrived in order. */
  get lastN(): number {
    return this.#lastN;
  }

  /** Total number of bytes that the sender may send, counted from the start of the session. Never decreases. */
  get granted(): number {
    this.#granted = Math.max(this.#granted, this.#consumedBytes + this.#windowBytes());
    return this.#granted;
  }

  /** Takes a message and passes on the frames in it. Throws an Error if the sender violates the protocol. */
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
