// The floor for anything written in Node: bytes of one connection go to the other, unread. Connections pair in the order they come.
import { createServer, type Socket } from "node:net";
import { announceAndServe } from "./announce.ts";

let waiting: Socket | undefined;

function pipe(from: Socket, to: Socket): void {
  from.on("data", (bytes) => to.write(bytes));
  from.on("close", () => to.destroy());
}

announceAndServe(
  createServer({ noDelay: true }, (socket) => {
    // A peer that resets is gone, which "close" tells too.
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
