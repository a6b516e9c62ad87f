import { expect, it } from "vitest";
import { portFlags } from "./engine-run.ts";

it("restarts an engine at the same ports, also at the default one of a scheme", () => {
  expect(
    portFlags({ bridge: "wss://localhost", http: "http://localhost:80", realtime: "ws://localhost:3112" }),
  ).toEqual(["--bridge-port", "443", "--http-port", "80", "--ws-port", "3112"]);
});
