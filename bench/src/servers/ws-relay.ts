// The bare price of handing WebSocket frames on: what one connection sends goes to the other, with back-pressure. Connections pair
// in the order they come.
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
  // A peer that resets is gone, which "close" tells too.
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
