import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/**
 * Forwards connections to a port of this machine. While it is cut, nothing passes in either direction and no connection
 * ends, as when a cable is cut.
 */
export class CuttableProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isCut = false;

  private constructor(target: number) {
    this.#server = createServer((client) => {
      const upstream = connect(target, "127.0.0.1");
      for (const [from, to] of [
        [client, upstream],
        [upstream, client],
      ] as const) {
        this.#sockets.add(from);
        // Not piped: a pipe reads on by itself.
        from.on("data", (chunk) => {
          if (!to.write(chunk)) from.pause();
        });
        to.on("drain", () => {
          if (!this.#isCut) from.resume();
        });
        from.on("error", () => undefined);
        from.on("close", () => {
          this.#sockets.delete(from);
          to.destroy();
        });
        if (this.#isCut) from.pause();
      }
    });
  }

  static async start(target: number): Promise<CuttableProxy> {
    const proxy = new CuttableProxy(target);
    await once(proxy.#server.listen(0, "127.0.0.1"), "listening");
    return proxy;
  }

  get url(): string {
    return `nats://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.pause();
  }

  /** What was under way arrives late. */
  heal(): void {
    this.#isCut = false;
    for (const socket of this.#sockets) socket.resume();
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }
}
