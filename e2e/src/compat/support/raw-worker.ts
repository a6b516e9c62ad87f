import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { WebSocket } from "ws";

export type RawFrame = Readonly<Record<string, unknown>>;

/** A worker that sends plain frames. */
export interface RawWorker {
  readonly id: string;
  readonly reattachToken: string;
  readonly socket: WebSocket;
  /** Every frame received so far. */
  readonly received: readonly RawFrame[];
  say(frame: RawFrame | string): void;
  sayBytes(frame: RawFrame): void;
  /** Resolves with the next matching frame, past or future. Returns each frame once. */
  next(wanted: (frame: RawFrame) => boolean, what: string): Promise<RawFrame>;
  /** Makes a call and resolves with its `invocationresult`. */
  call(functionId: string, more?: RawFrame): Promise<RawFrame>;
  /** Resolves when the engine has handled everything sent so far: it reads one socket in order. */
  settled(): Promise<void>;
  close(): void;
}

const DEADLINE_MS = 30_000;

export async function connectRaw(address: string): Promise<RawWorker> {
  const socket = new WebSocket(address);
  const received: RawFrame[] = [];
  const untaken: RawFrame[] = [];
  // Each new frame is offered to the waiters in order. They do not search all frames again: there may be thousands.
  const waiting = new Set<(frame: RawFrame) => boolean>();
  socket.on("message", (data) => {
    const frame = JSON.parse(String(data)) as RawFrame;
    received.push(frame);
    for (const takes of waiting) if (takes(frame)) return;
    untaken.push(frame);
  });
  await once(socket, "open");
  const next: RawWorker["next"] = (wanted, what) =>
    new Promise((resolve, reject) => {
      const at = untaken.findIndex(wanted);
      if (at !== -1) return resolve(untaken.splice(at, 1)[0] as RawFrame);
      const limit = setTimeout(() => {
        waiting.delete(takes);
        reject(new Error(`no frame within ${DEADLINE_MS} ms: ${what}\nreceived: ${JSON.stringify(received)}`));
      }, DEADLINE_MS);
      const takes = (frame: RawFrame): boolean => {
        if (!wanted(frame)) return false;
        clearTimeout(limit);
        waiting.delete(takes);
        resolve(frame);
        return true;
      };
      waiting.add(takes);
    });
  const greeting = await next(() => true, "the first frame");
  const say: RawWorker["say"] = (frame) => socket.send(typeof frame === "string" ? frame : JSON.stringify(frame));
  const worker: RawWorker = {
    id: String(greeting.worker_id),
    reattachToken: String(greeting.reattach_token),
    socket,
    received,
    say,
    sayBytes: (frame) => socket.send(Buffer.from(JSON.stringify(frame)), { binary: true }),
    next,
    call(functionId, more = {}) {
      const id = randomUUID();
      say({ type: "invokefunction", invocation_id: id, function_id: functionId, data: {}, ...more });
      return next(
        (frame) => frame.type === "invocationresult" && frame.invocation_id === id,
        `the answer of ${functionId}`,
      );
    },
    async settled() {
      say({ type: "ping" });
      await next(({ type }) => type === "pong", "the pong");
    },
    close: () => socket.terminate(),
  };
  return worker;
}
