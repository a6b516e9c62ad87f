import { pause } from "../ports.ts";
import { WebSocketClient } from "../websocket-client.ts";
import { GROUP, type Publisher, STREAM } from "./publisher.ts";

/** A group that only the stalled client joins. Events of this group fill its buffers and do not reach other clients. */
const FILL_GROUP = "fill";
const FILL_EVENT_BYTES = 64 * 1024;
/**
 * 256 events of 64 KiB are 16 MiB, which certainly fills all buffers of the stalled client: the engine buffers 1 MiB
 * per client, and the operating system buffers about 6 MiB for a local connection.
 */
const FILL_EVENTS = 256;
const FILL_PAUSE_MS = 2;
const JOIN_TIMEOUT_MS = 10_000;

/**
 * Opens a client that joins GROUP, like the other clients, and FILL_GROUP. Then the client stops reading, and events
 * are published to FILL_GROUP until its buffers are full.
 */
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
