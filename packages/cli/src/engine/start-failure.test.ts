import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { ListenError } from "@svc-runtime/engine";
import { expect, it } from "vitest";
import { explainStartFailure } from "./start-failure.ts";

it.runIf(process.platform === "linux")(
  "explains what uses a port without a listener, and which ports to use instead",
  async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const outgoing = connect({ host: "127.0.0.1", port: (server.address() as AddressInfo).port });
    await once(outgoing, "connect");
    const port = outgoing.localPort ?? 0;
    try {
      const cause = Object.assign(new Error("in use"), { code: "EADDRINUSE" });

      expect(
        await explainStartFailure(new ListenError("workers", { host: "127.0.0.1", port }, cause), [
          "svc",
          "dev",
          "--bridge-port",
          String(port),
          "--no-console",
        ]),
      ).toMatchObject({
        message: `The engine failed to start: port ${port} is in use, although no process listens on it.`,
        advice: [
          expect.stringContaining("outgoing connections"),
          expect.stringMatching(/below 32768: svc dev --no-console --bridge-port 29\d{3}$/),
        ],
      });
    } finally {
      outgoing.destroy();
      server.close();
    }
  },
);
