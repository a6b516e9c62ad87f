/** Shorter pieces are copied into a common block, so that a message that arrives byte by byte takes no buffer for each byte. */
const MIN_OWN_PIECE_BYTES = 4 * 1024;
const BLOCK_BYTES = 16 * 1024;

/** Collects the payload of one message. Memory stays within twice the payload plus one block. */
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
    if (piece.length >= MIN_OWN_PIECE_BYTES) {
      this.#endBlock();
      this.#pieces.push(piece);
      return;
    }
    if (this.#block === undefined || this.#blockUsed + piece.length > this.#block.length) {
      this.#endBlock();
      this.#block = Buffer.allocUnsafe(BLOCK_BYTES);
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
    if (this.#block !== undefined) this.#pieces.push(this.#block.subarray(0, this.#blockUsed));
    this.#block = undefined;
    this.#blockUsed = 0;
  }
}
