// The minimum cost of sending one message to many WebSockets: sends messages of the path /publish to all others.
import { createServer } from "node:http";
import { type RawData, type WebSocket, WebSocketServer } from "ws";
import { announceAndServe } from "./announce.ts";

const clients = new Set<WebSocket>();
const http = createServer();
new WebSocketServer({ server: http, perMessageDeflate: false }).on("connection", (socket, request) => {
  // A reset is always followed by "close".
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
