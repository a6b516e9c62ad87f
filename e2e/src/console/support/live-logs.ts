import type { Page, WebSocketRoute } from "playwright-core";
import { onTestFinished } from "vitest";

/** Sends log entries to a page as if the engine had. */
export interface LiveLogs {
  /** Sends entries with the messages `entry FROM` to `entry END - 1`. */
  send(from: number, end: number): Promise<void>;
}

/** Maximum number of entries in an event of the engine. */
const BATCH = 500;

/** Call it before the page opens the console. It cannot be undone, so the page is closed at the end of the test. */
export async function sendLiveLogs(page: Page, service: string): Promise<LiveLogs> {
  onTestFinished(() => page.close());
  let subscribed: (topic: { readonly socket: WebSocketRoute; readonly id: string }) => void;
  const topic = new Promise<{ readonly socket: WebSocketRoute; readonly id: string }>((resolve) => {
    subscribed = resolve;
  });
  await page.routeWebSocket("**/ws/console", (socket) => {
    const server = socket.connectToServer();
    socket.onMessage((message) => {
      const { type, id, stream } = JSON.parse(String(message)) as { type: string; id: string; stream?: string };
      if (type === "subscribe" && stream === "svc.logs") subscribed({ socket, id });
      server.send(message);
    });
  });
  return {
    async send(from, end) {
      const { socket, id } = await topic;
      for (let at = from; at < end; at += BATCH) {
        const logs = Array.from({ length: Math.min(BATCH, end - at) }, (_, index) => entryOf(at + index, service));
        const event = { type: "event", id: null, data: { type: "logs", data: { logs, dropped: 0 } }, timestamp: 0 };
        socket.send(JSON.stringify([{ type: "event", id, event }]));
      }
    },
  };
}

function entryOf(at: number, service: string): object {
  const ms = Date.now();
  return {
    ...{ id: String(1e12 + at), timestamp_ms: ms, timestamp_unix_nano_text: `${ms}000000` },
    ...{ severity_number: 9, severity_text: "INFO", body: `entry ${at}`, trace_id: null, span_id: null },
    ...{ attributes: { at, note: `what happened at ${at}` }, resource: {}, service_name: service },
  };
}
