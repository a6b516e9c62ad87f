import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, it } from "vitest";
import { findPortHolder } from "./port-holder.ts";

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

it("finds nobody on a port that is free", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");

  expect(await findPortHolder(port)).toBeUndefined();
});
