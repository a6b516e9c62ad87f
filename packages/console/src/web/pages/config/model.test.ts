import { expect, it } from "vitest";
import type { ConsoleSetting } from "../../../contract/api.ts";
import { portRows, sdkMismatches, sdkRows, versionMismatch } from "./model.ts";

function setting(flag: string, value: number, source: ConsoleSetting["source"] = "default"): ConsoleSetting {
  return { flag, value, source, default: value, env: null };
}

it("returns each effective port, its default, and the port that the console connects to", () => {
  const flags = [
    setting("--port", 0, "flag"),
    setting("--engine-port", 9000, "flag"),
    setting("--ws-port", 3112),
    setting("--bridge-port", 49134),
  ];
  const engine = [
    { key: "svc-http.port", value: 3111, source: "default" },
    { key: "engine.bridge.port", value: 49134, source: "file" },
  ];
  const rows = portRows(flags, engine, "http://localhost:23403");
  expect(
    rows.map(({ name, port, defaultPort, source, expected }) => [
      name,
      port,
      defaultPort,
      source,
      expected?.port,
      expected?.source,
    ]),
  ).toEqual([
    ["Engine HTTP API", 3111, 3111, "default", 9000, "flag"],
    ["Engine WebSocket server", null, 3112, null, 3112, "default"],
    ["Engine SDK bridge", 49134, 49134, "file", 49134, "default"],
    ["Console web UI", 23403, 3113, "flag", undefined, undefined],
  ]);
});

const worker = (id: string, runtime: string, version: string | null, kind = "worker", features = ["metadata"]) => ({
  ...{ id, name: id, runtime, version, kind, features },
});

it("warns of workers with an SDK of another release, but not of other clients", () => {
  const rows = sdkRows([
    worker("old", "node", "0.0.9"),
    worker("older", "node", "0.0.9"),
    worker("fits", "python", "0.1.7"),
    worker("other", "node", "0.0.9", "worker", []),
    worker("silent", "go", null),
  ]);
  expect(sdkMismatches(rows, "0.1.0")).toEqual([
    "The SDK (node) of old, older is 0.0.9, the engine 0.1.0: they may be incompatible",
  ]);
});

it("groups workers by SDK, without modules", () => {
  const rows = sdkRows([
    worker("a", "node", "0.1.0"),
    worker("b", "python", null),
    worker("c", "node", "0.1.0"),
    worker("m", "engine", null, "module"),
  ]);
  expect(rows.map(({ runtime, version, workers }) => [runtime, version, workers.map(({ id }) => id)])).toEqual([
    ["node", "0.1.0", ["a", "c"]],
    ["python", null, ["b"]],
  ]);
});

it("warns of versions that differ by more than a patch", () => {
  expect(versionMismatch("The console", "0.1.4", "0.1.0")).toBeUndefined();
  expect(versionMismatch("The console", "0.2.0", "0.1.0")).toContain("0.2.0");
  expect(versionMismatch("The console", "1.5.0", "1.0.0")).toBeUndefined();
});
