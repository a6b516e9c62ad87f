/** Frames that may wait behind a hook. Reading stops meanwhile, so these are what had already arrived: a buffer's worth. */
const MAX_WAITING = 4_096;

/** Keeps the frames of one connection in order while a hook decides over one of them. */
export class FrameLine<Frame> {
  #held = false;
  #waiting: Frame[] = [];

  get held(): boolean {
    return this.#held;
  }

  hold(): void {
    this.#held = true;
  }

  /** False when the line is full. */
  add(frame: Frame): boolean {
    if (this.#waiting.length >= MAX_WAITING) return false;
    this.#waiting.push(frame);
    return true;
  }

  /** Hands out what waits, until nothing is left or a frame holds the line again. */
  release(handle: (frame: Frame) => void): void {
    this.#held = false;
    while (!this.#held) {
      const frame = this.#waiting.shift();
      if (frame === undefined) return;
      handle(frame);
    }
  }

  clear(): void {
    this.#waiting = [];
  }
}
