// Runs on a machine of `machines.ts`: accepts the connections of servers that it is sent, and forwards each to the port of
// this machine's loopback that it is sent with the server.
import { connect, type Server, type Socket } from "node:net";

process.on("message", (port: number, server: unknown) => {
  (server as Server).on("connection", (client) => {
    const upstream = connect(port, "127.0.0.1");
    join(client, upstream);
    join(upstream, client);
  });
  process.send?.(port);
});
process.on("disconnect", () => process.exit());

/** Errors end a connection; `close` follows them. */
function join(from: Socket, to: Socket): void {
  from.on("error", () => undefined);
  from.on("close", () => to.destroy());
  from.pipe(to);
}
