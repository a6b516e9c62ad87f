import type { AddressInfo, Server } from "node:net";

/** Message of a server process to its parent once it listens. */
export interface Announcement {
  readonly port: number;
}

/** Listens on a free loopback port and notifies the parent process. Ends the process when the parent has ended. */
export function announceAndServe(server: Server): void {
  process.on("disconnect", () => process.exit(0));
  server.listen({ port: 0, host: "127.0.0.1", backlog: 4096 }, () => {
    const announcement: Announcement = { port: (server.address() as AddressInfo).port };
    process.send?.(announcement);
  });
}
