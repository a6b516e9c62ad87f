import { expect, it } from "vitest";
import { boundUrlOf, localUrlOf } from "./listener-addresses.ts";

it.each([
  ["127.0.0.1", "ws://localhost:1", "ws://localhost:1"],
  ["localhost", "ws://localhost:1", "ws://localhost:1"],
  ["::1", "ws://[::1]:1", "ws://[::1]:1"],
  ["0.0.0.0", "ws://localhost:1", "ws://0.0.0.0:1 (every interface)"],
  ["::", "ws://[::1]:1", "ws://[::]:1 (every interface)"],
  ["0:0:0:0:0:0:0:0", "ws://[::1]:1", "ws://[0:0:0:0:0:0:0:0]:1 (every interface)"],
  ["192.0.2.7", "ws://192.0.2.7:1", "ws://192.0.2.7:1 (other machines reach it)"],
  ["api.internal", "ws://api.internal:1", "ws://api.internal:1 (other machines reach it)"],
])("a listener at %s is reached at %s and shown as %s", (host, local, shown) => {
  expect([
    localUrlOf("ws", { host, port: 1, isTls: false }),
    boundUrlOf("ws", { host, port: 1, isTls: false }),
  ]).toEqual([local, shown]);
});
