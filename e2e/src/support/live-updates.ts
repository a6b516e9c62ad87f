import { once } from "node:events";
import { WebSocket } from "ws";

export interface StreamMessage {
  readonly streamName: string;
  readonly id: string | null;
  readonly event: { readonly type: string; readonly data: Record<string, unknown> };
}

/**
 * Follows a system stream of the engine, so a test can await events instead of sleeping. Resolves when the subscription
 * is active.
 */
export async function follow(
  port: number,
  streamName: string,
): Promise<{
  next(wanted: (message: StreamMessage) => boolean, what: string, timeoutMs?: number): Promise<StreamMessage>;
  close(): void;
}> {
  const socket = new WebSocket(`ws://localhost:${port}/`);
  await once(socket, "open");
  const seen: StreamMessage[] = [];
  const watchers = new Set<() => void>();
  socket.on("message", (data) => {
    seen.push(JSON.parse(String(data)) as StreamMessage);
    for (const watcher of watchers) watcher();
  });
  socket.send(JSON.stringify({ type: "join", data: { subscriptionId: "e2e", streamName, groupId: "all" } }));
  const updates = {
    next(wanted: (message: StreamMessage) => boolean, what: string, timeoutMs = 60_000): Promise<StreamMessage> {
      return new Promise((resolve, reject) => {
        const limit = setTimeout(() => reject(new Error(`not within ${timeoutMs} ms: ${what}`)), timeoutMs);
        const look = (): void => {
          const at = seen.findIndex(wanted);
          if (at === -1) return;
          clearTimeout(limit);
          watchers.delete(look);
          const found = seen[at] as StreamMessage;
          // Earlier items are not needed any more.
          seen.splice(0, at + 1);
          resolve(found);
        };
        watchers.add(look);
        look();
      });
    },
    close: () => socket.terminate(),
  };
  await updates.next(({ event }) => event.type === "sync", `${streamName} is followed`);
  return updates;
}
