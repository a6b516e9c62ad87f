import type { Frame } from "@svc/protocol";
import type { StreamClient } from "../kernel/stream-contract.ts";

/** A WebSocket of the real-time listener. */
export interface RealtimeSocket {
  readonly client: StreamClient;
  /** Queues a text frame. */
  send(frame: Frame): void;
  /** Bytes that are queued and not yet read by the peer. */
  readonly bufferedBytes: number;
  /** Calls `listener` once when all bytes queued now have been passed on. Not called if the connection ends first. */
  onceDrained(listener: () => void): void;
  onMessage(listener: (text: string) => void): void;
  onClose(listener: () => void): void;
  close(code: number, reason: string): void;
}
