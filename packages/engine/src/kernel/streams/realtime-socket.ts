import type { Frame } from "@svc/protocol";
import type { StreamClient } from "../stream-contract.ts";

/** One WebSocket on the engine's real-time listener. */
export interface RealtimeSocket {
  readonly client: StreamClient;
  /** Queues a text frame. */
  send(frame: Frame): void;
  /** Bytes queued and not yet taken by the peer. */
  readonly bufferedBytes: number;
  /** Calls `listener` once, when what is queued now has been taken. Not called when the connection ends first. */
  onceDrained(listener: () => void): void;
  onMessage(listener: (text: string) => void): void;
  onClose(listener: () => void): void;
  close(code: number, reason: string): void;
}
