import { connect, type Socket } from "node:net";

const CONNECT_TIMEOUT_MS = 5000;
const HEAD_END = Buffer.from("\r\n\r\n");

export interface HttpResponse {
  readonly status: number;
  /** Valid only until the listener returns. */
  readonly body: Buffer;
}

export interface HttpListeners {
  onResponse(response: HttpResponse): void;
  onLost(error: Error): void;
}

/**
 * A keep-alive HTTP connection with one request at a time, written as prepared bytes. Reads responses with a content
 * length.
 */
export class HttpConnection {
  readonly #socket: Socket;
  #pending: Buffer = Buffer.alloc(0);
  #closed = false;

  private constructor(socket: Socket) {
    this.#socket = socket;
  }

  static open(port: number, listeners: HttpListeners): Promise<HttpConnection> {
    return new Promise((resolve, reject) => {
      const buffer = Buffer.allocUnsafeSlow(64 * 1024);
      const socket = connect({
        host: "127.0.0.1",
        port,
        noDelay: true,
        onread: {
          buffer,
          callback(bytes) {
            try {
              connection.#receive(buffer.subarray(0, bytes), listeners);
            } catch (error) {
              socket.destroy(error as Error);
            }
            return true;
          },
        },
      });
      const connection = new HttpConnection(socket);
      const timer = setTimeout(
        () => socket.destroy(new Error(`no connection to port ${port} within ${CONNECT_TIMEOUT_MS} ms`)),
        CONNECT_TIMEOUT_MS,
      );
      socket.once("connect", () => {
        clearTimeout(timer);
        resolve(connection);
      });
      const lost = (error: Error): void => {
        clearTimeout(timer);
        reject(error);
        if (!connection.#closed) listeners.onLost(error);
      };
      socket.on("error", lost);
      socket.on("close", () => lost(new Error(`the server closed a connection on port ${port}`)));
    });
  }

  write(request: Buffer): void {
    this.#socket.write(request);
  }

  close(): void {
    this.#closed = true;
    this.#socket.destroy();
  }

  #receive(chunk: Buffer, listeners: HttpListeners): void {
    const bytes = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    const end = responseEnd(bytes);
    if (end === undefined) {
      this.#pending = this.#pending.length === 0 ? Buffer.from(bytes) : bytes;
      return;
    }
    this.#pending = Buffer.alloc(0);
    if (end.total !== bytes.length) throw new Error("the server sent more than one answer to one request");
    listeners.onResponse({ status: Number(bytes.toString("latin1", 9, 12)), body: bytes.subarray(end.head) });
  }
}

/** Returns the sizes of the head and of the whole response, in bytes. Undefined while the response is incomplete. */
export function responseEnd(bytes: Buffer): { readonly head: number; readonly total: number } | undefined {
  const headEnd = bytes.indexOf(HEAD_END);
  if (headEnd === -1) return undefined;
  const length = /\r\ncontent-length: *(\d+)/i.exec(bytes.toString("latin1", 0, headEnd));
  if (length === null)
    throw new Error(`the server answered without a content length: ${bytes.toString("latin1", 0, headEnd)}`);
  const head = headEnd + HEAD_END.length;
  const total = head + Number(length[1]);
  return bytes.length < total ? undefined : { head, total };
}
