import { randomUUID } from "node:crypto";
import { payloadOfBytes } from "../payloads.ts";
import { WebSocketClient } from "../websocket-client.ts";
import type { FanOutLoad } from "./load.ts";
import { Peer } from "./peer.ts";

export const STREAM = "bench";
export const GROUP = "all";

/** Publishes one event to all clients. */
export interface Publisher {
  publish(group: string, payloadBytes: number): void;
  close(): void;
}

/** `onFailure` is called if an event is rejected or the connection is lost. */
export function connectPublisher(load: FanOutLoad, onFailure: (error: Error) => void): Promise<Publisher> {
  return load.via === "stream" ? throughEngine(load.bridgePort, onFailure) : throughBroadcast(load.port, onFailure);
}

async function throughEngine(port: number, onFailure: (error: Error) => void): Promise<Publisher> {
  const peer = await Peer.connect(port, "bench-publisher", {
    onInvocation(frame) {
      if (frame.includes('"error":{')) onFailure(new Error(`an event was rejected: ${frame.toString("utf8", 0, 400)}`));
    },
    onLost: onFailure,
  });
  await peer.settled();
  return {
    publish(group, payloadBytes) {
      const data = {
        stream_name: STREAM,
        group_id: group,
        type: "tick",
        data: JSON.parse(payloadOfBytes(payloadBytes)) as object,
      };
      peer.send({ type: "invokefunction", invocation_id: randomUUID(), function_id: "stream::send", data });
      peer.flush();
    },
    close: () => peer.close(),
  };
}

async function throughBroadcast(port: number, onFailure: (error: Error) => void): Promise<Publisher> {
  let isClosed = false;
  const socket = await WebSocketClient.open(port, "/publish", {
    onMessage() {},
    onReadEnd() {},
    onClosed: (reason) => {
      if (!isClosed) onFailure(new Error(`the publisher's connection: ${reason}`));
    },
  });
  return {
    publish(group, payloadBytes) {
      socket.queueText(eventText(group, payloadBytes));
      socket.flush();
    },
    close() {
      isClosed = true;
      socket.destroy();
    },
  };
}

/** Returns the engine's message to a client of the published protocol. */
function eventText(group: string, payloadBytes: number): string {
  const head = { type: "stream", timestamp: Date.now(), streamName: STREAM, groupId: group, id: null };
  return JSON.stringify({
    ...head,
    event: { type: "event", event: { type: "tick", data: JSON.parse(payloadOfBytes(payloadBytes)) as object } },
  });
}
