import { isDeepStrictEqual } from "node:util";
import { FEATURES } from "@svc-runtime/protocol";
import { findInvocationId } from "../frame-template.ts";
import { WebSocketClient } from "../websocket-client.ts";

const SETUP_TIMEOUT_MS = 30_000;

/** A message that is not part of the load. It is parsed with JSON.parse. */
export interface ControlMessage {
  readonly type: string;
  readonly id?: string;
  readonly status?: string | null;
  readonly error?: { readonly code: string; readonly message: string } | null;
}

export interface PeerListeners {
  /** A frame with an invocation id, which starts at `idAt`. Valid only until the listener returns. */
  onInvocation(frame: Buffer, idAt: number): void;
  /** The connection ended unexpectedly. */
  onLost(error: Error): void;
}

/** One worker connection of the generator. Introduces itself as the SDK does. */
export class Peer {
  readonly #name: string;
  readonly #listeners: PeerListeners;
  #socket!: WebSocketClient;
  #closed = false;
  #onControl: ((message: ControlMessage) => void) | undefined;
  #onFailure: ((error: Error) => void) | undefined;

  private constructor(name: string, listeners: PeerListeners) {
    this.#name = name;
    this.#listeners = listeners;
  }

  static async connect(port: number, name: string, listeners: PeerListeners): Promise<Peer> {
    const peer = new Peer(name, listeners);
    peer.#socket = await WebSocketClient.open(port, "/", {
      onMessage: (frame) => peer.#receive(frame),
      onReadEnd() {},
      onClosed: (reason) => peer.#lost(new Error(`connection ${name}: ${reason}`)),
    });
    peer.send({
      type: "invokefunction",
      function_id: "engine::workers::register",
      action: { type: "void" },
      data: introduction(name),
    });
    return peer;
  }

  send(message: object): void {
    this.#socket.queueText(JSON.stringify(message));
  }

  /** Queues a whole encoded frame until the next flush. */
  queue(frame: Buffer): void {
    this.#socket.queue(frame);
  }

  flush(): void {
    this.#socket.flush();
  }

  close(): void {
    this.#closed = true;
    this.#socket.destroy();
  }

  /** Resolves when the engine has handled everything sent before, which its answer to a ping proves. */
  settled(): Promise<void> {
    this.send({ type: "ping" });
    return this.awaitControl((message) => message.type === "pong");
  }

  /**
   * Sends the queued frames. Resolves when `isLast` returns true for a message. Rejects if the engine sends an error,
   * or after 30 s.
   */
  awaitControl(isLast: (message: ControlMessage) => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (): void => {
        clearTimeout(timer);
        this.#onControl = undefined;
        this.#onFailure = undefined;
      };
      const timer = setTimeout(() => {
        end();
        reject(
          new Error(`connection ${this.#name}: the engine did not confirm the set-up within ${SETUP_TIMEOUT_MS} ms`),
        );
      }, SETUP_TIMEOUT_MS);
      this.#onFailure = (error) => {
        end();
        reject(error);
      };
      this.#onControl = (message) => {
        if (!isLast(message)) return;
        end();
        resolve();
      };
      this.flush();
    });
  }

  #receive(frame: Buffer): void {
    const idAt = findInvocationId(frame);
    if (idAt !== -1) {
      this.#listeners.onInvocation(frame, idAt);
      return;
    }
    const message = JSON.parse(frame.toString()) as ControlMessage;
    if (message.error)
      throw new Error(`the engine rejected a message: ${message.error.code}: ${message.error.message}`);
    this.#onControl?.(message);
  }

  #lost(error: Error): void {
    if (this.#closed) return;
    this.#onFailure?.(error);
    this.#listeners.onLost(error);
  }
}

function introduction(name: string): object {
  return {
    runtime: "node",
    version: "0.1.0",
    name,
    os: `${process.platform} (${process.arch})`,
    pid: process.pid,
    isolation: null,
    telemetry: { language: "en-US", framework: "svc-node" },
    kind: "worker",
    features: FEATURES,
  };
}

/**
 * Checks the contents of frames. Parses the first frame. Later frames of the same length are not parsed, to save time;
 * a frame of another length is.
 */
export class FrameCheck {
  readonly #problemOf: (message: Record<string, unknown>) => string | undefined;
  #seenBytes = -1;

  constructor(problemOf: (message: Record<string, unknown>) => string | undefined) {
    this.#problemOf = problemOf;
  }

  /** Throws if the frame is not the expected one. */
  verify(frame: Buffer): void {
    if (frame.length === this.#seenBytes) return;
    const message = JSON.parse(frame.toString()) as Record<string, unknown>;
    const problem = this.#problemOf(message);
    if (problem !== undefined) throw new Error(`${problem}: ${frame.toString("utf8", 0, 400)}`);
    this.#seenBytes = frame.length;
  }
}

/** For `FrameCheck`: checks the type, that there is no error, and the payload. */
export function expectPayload(
  type: "invokefunction" | "invocationresult",
  isExpected: (payload: unknown) => boolean,
): (message: Record<string, unknown>) => string | undefined {
  const member = type === "invokefunction" ? "data" : "result";
  return (message) => {
    if (message.error) return "the engine answered with an error";
    if (message.type !== type) return `expected ${type}`;
    return isExpected(message[member]) ? undefined : `unexpected ${member}`;
  };
}

export function equals(expected: unknown): (payload: unknown) => boolean {
  return (payload) => isDeepStrictEqual(payload, expected);
}
