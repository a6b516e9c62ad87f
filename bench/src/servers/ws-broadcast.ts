// The bare price of sending one message to many WebSockets: what comes on the path /publish goes to all others.
import { createServer } from "node:http";
import { type RawData, type WebSocket, WebSocketServer } from "ws";
import { announceAndServe } from "./announce.ts";

const clients = new Set<WebSocket>();
const http = createServer();
new WebSocketServer({ server: http, perMessageDeflate: false }).on("connection", (socket, request) => {
  // A peer that resets is gone, which "close" tells too.
  socket.on("error", () => socket.terminate());
  if (request.url === "/publish") {
    socket.on("message", (data: RawData, isBinary: boolean) => {
      for (const client of clients) client.send(data as Buffer, { binary: isBinary });
    });
    return;
  }
  clients.add(socket);
  socket.on("close", () => clients.delete(socket));
});
announceAndServe(http);
