/**
 * Maximum number of frames that wait for a hook. Only frames that arrived before the hook was called wait, because the
 * socket is paused while the hook runs.
 */
const MAX_WAITING = 4_096;

/** Keeps the frames of one connection in order while a hook runs for one of them. */
export class FrameQueue<Frame> {
  #paused = false;
  #waiting: Frame[] = [];

  get isPaused(): boolean {
    return this.#paused;
  }

  pause(): void {
    this.#paused = true;
  }

  /** Returns false if the queue is full. */
  add(frame: Frame): boolean {
    if (this.#waiting.length >= MAX_WAITING) return false;
    this.#waiting.push(frame);
    return true;
  }

  /** Handles the waiting frames in order, until none is left or one pauses the queue again. */
  resume(handle: (frame: Frame) => void): void {
    this.#paused = false;
    while (!this.#paused) {
      const frame = this.#waiting.shift();
      if (frame === undefined) return;
      handle(frame);
    }
  }

  clear(): void {
    this.#waiting = [];
  }
}
