// The minimum cost of two `ws` frames, one in and one out: sends each message back.
import { createServer } from "node:http";
import { type RawData, WebSocketServer } from "ws";
import { announceAndServe } from "./announce.ts";

const http = createServer();
new WebSocketServer({ server: http, perMessageDeflate: false }).on("connection", (socket) => {
  socket.on("message", (data: RawData, isBinary: boolean) => socket.send(data as Buffer, { binary: isBinary }));
});
announceAndServe(http);
