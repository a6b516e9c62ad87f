/** Minimum size of a block that collects copied pieces. */
const BLOCK_BYTES = 16 * 1024;

/**
 * Collects the payload of one message from the pieces in which it arrives. A large piece that is at least half of its
 * buffer is kept as it is. Other pieces are copied into blocks, because a small piece would keep its whole buffer in
 * memory. So a message takes at most three times the memory of its payload, plus one block.
 */
export class PayloadPieces {
  readonly #pieces: Buffer[] = [];
  #block: Buffer | undefined;
  #blockUsed = 0;
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  /** Keeps `piece` itself or a copy. */
  add(piece: Buffer): void {
    if (piece.length === 0) return;
    this.#bytes += piece.length;
    if (piece.length >= BLOCK_BYTES && piece.length * 2 >= piece.buffer.byteLength) {
      this.#endBlock();
      this.#pieces.push(piece);
      return;
    }
    if (this.#block === undefined || this.#blockUsed + piece.length > this.#block.length) {
      this.#endBlock();
      this.#block = Buffer.allocUnsafeSlow(Math.max(BLOCK_BYTES, piece.length));
    }
    piece.copy(this.#block, this.#blockUsed);
    this.#blockUsed += piece.length;
  }

  /** Returns the whole payload. */
  join(): Buffer {
    this.#endBlock();
    return this.#pieces.length === 1 ? (this.#pieces[0] as Buffer) : Buffer.concat(this.#pieces);
  }

  #endBlock(): void {
    const block = this.#block?.subarray(0, this.#blockUsed);
    if (block !== undefined)
      this.#pieces.push(block.length * 2 >= block.buffer.byteLength ? block : Buffer.from(block));
    this.#block = undefined;
    this.#blockUsed = 0;
  }
}
