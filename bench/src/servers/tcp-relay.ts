// The minimum cost of forwarding bytes in Node: forwards the bytes of one connection to another without parsing them.
// Connections are paired in the order of their arrival.
import { createServer, type Socket } from "node:net";
import { announceAndServe } from "./announce.ts";

let waiting: Socket | undefined;

function pipe(from: Socket, to: Socket): void {
  from.on("data", (bytes) => to.write(bytes));
  from.on("close", () => to.destroy());
}

announceAndServe(
  createServer({ noDelay: true }, (socket) => {
    // A reset is always followed by "close".
    socket.on("error", () => socket.destroy());
    if (waiting === undefined || waiting.destroyed) {
      waiting = socket;
      return;
    }
    pipe(waiting, socket);
    pipe(socket, waiting);
    waiting = undefined;
  }),
);
