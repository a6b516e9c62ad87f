import type { Socket, SocketEvents } from "./socket.ts";

/**
 * A socket that opens only after the promise of `check` has resolved. If that promise rejects, the socket closes with
 * its error.
 */
export class CheckedSocket implements Socket {
  readonly #events: SocketEvents;
  #socket: Socket | undefined;
  #isClosed = false;

  constructor(check: () => Promise<void>, open: () => Socket, events: SocketEvents) {
    this.#events = events;
    void this.#open(check, open);
  }

  async #open(check: () => Promise<void>, open: () => Socket): Promise<void> {
    try {
      await check();
      if (!this.#isClosed) this.#socket = open();
    } catch (thrown) {
      this.#close(thrown instanceof Error ? thrown.message : String(thrown));
    }
  }

  #close(reason: string): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#events.closed(reason);
  }

  get bufferedBytes(): number {
    return this.#socket?.bufferedBytes ?? 0;
  }

  send(frame: string | Uint8Array): void {
    this.#socket?.send(frame);
  }

  flushed(): Promise<void> {
    return this.#socket?.flushed() ?? Promise.resolve();
  }

  ping(): void {
    this.#socket?.ping?.();
  }

  close(): void {
    if (this.#socket === undefined) this.#close("closed before it was open");
    else this.#socket.close();
  }

  terminate(): void {
    if (this.#socket === undefined) this.#close("closed before it was open");
    else this.#socket.terminate();
  }
}
