import { pause } from "../ports.ts";
import { WebSocketClient } from "../websocket-client.ts";
import { GROUP, type Publisher, STREAM } from "./publisher.ts";

/** A group that only the stalled client has joined, to fill its outbound buffer without sending to the others. */
const FILL_GROUP = "fill";
const FILL_EVENT_BYTES = 64 * 1024;
/** The engine buffers 1 MiB per client. The kernel's buffers of a local connection take more, 6 MiB here. */
const FILL_EVENTS = 256;
const FILL_PAUSE_MS = 2;
const JOIN_TIMEOUT_MS = 10_000;

/** Joins the clients' group and a group of its own, stops reading, and receives more than the engine buffers. */
export async function stallClient(port: number, publisher: Publisher): Promise<WebSocketClient> {
  let onJoined = (): void => {};
  const joined = new Promise<void>((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`the stalled client's joins were not answered within ${JOIN_TIMEOUT_MS} ms`)),
      JOIN_TIMEOUT_MS,
    );
    let left = 2;
    onJoined = () => {
      left -= 1;
      if (left > 0) return;
      clearTimeout(timer);
      resolve();
    };
  });
  const client = await WebSocketClient.open(port, "/", {
    onMessage: (frame) => {
      if (frame.includes('"type":"joined"')) onJoined();
    },
    onReadEnd() {},
    onClosed() {},
  });
  client.queueText(JSON.stringify({ type: "hello", data: { version: 1 } }));
  for (const group of [GROUP, FILL_GROUP]) {
    client.queueText(
      JSON.stringify({ type: "join", data: { subscriptionId: group, streamName: STREAM, groupId: group } }),
    );
  }
  client.flush();
  await joined;
  client.pause();
  for (let event = 0; event < FILL_EVENTS; event++) {
    publisher.publish(FILL_GROUP, FILL_EVENT_BYTES);
    await pause(FILL_PAUSE_MS);
  }
  return client;
}
