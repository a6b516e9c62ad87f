import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { expect, it } from "vitest";
import { findPortHolder, isUsedByConnection } from "./port-holder.ts";

it.runIf(process.platform === "linux")("names the process that listens on a port", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  try {
    expect(await findPortHolder(port)).toMatchObject({ pid: process.pid });
  } finally {
    server.close();
  }
});

it("finds no process on a free port", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");

  expect(await findPortHolder(port)).toBeUndefined();
});

it.runIf(process.platform === "linux")(
  "distinguishes a port of an outgoing connection from one with a listener",
  async () => {
    const accepted = new Set<Socket>();
    const server = createServer((socket) => accepted.add(socket)).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const outgoing = connect({ host: "127.0.0.1", port });
    await once(outgoing, "connect");
    try {
      expect(await isUsedByConnection(outgoing.localPort ?? 0)).toBe(true);
      expect(await isUsedByConnection(port)).toBe(false);
    } finally {
      outgoing.destroy();
      for (const socket of accepted) socket.destroy();
      server.close();
    }
  },
);
