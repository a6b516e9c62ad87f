// The minimum cost of forwarding WebSocket frames: sends the frames of one connection to the other, with backpressure.
// Connections are paired in the order of their arrival.
import { createServer } from "node:http";
import { type RawData, type WebSocket, WebSocketServer } from "ws";
import { announceAndServe } from "./announce.ts";

const MAX_SENDING_BYTES = 1024 * 1024;

let waiting: WebSocket | undefined;

function relay(from: WebSocket, to: WebSocket): void {
  from.on("message", (data: RawData, isBinary: boolean) => {
    to.send(data as Buffer, { binary: isBinary }, () => {
      if (from.isPaused && to.bufferedAmount < MAX_SENDING_BYTES) from.resume();
    });
    if (to.bufferedAmount >= MAX_SENDING_BYTES) from.pause();
  });
  from.on("close", () => to.close());
}

const http = createServer();
new WebSocketServer({ server: http, perMessageDeflate: false }).on("connection", (socket) => {
  // A reset is always followed by "close".
  socket.on("error", () => socket.terminate());
  if (waiting === undefined || waiting.readyState !== waiting.OPEN) {
    waiting = socket;
    return;
  }
  relay(waiting, socket);
  relay(socket, waiting);
  waiting = undefined;
});
announceAndServe(http);
