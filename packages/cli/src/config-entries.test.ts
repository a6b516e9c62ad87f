// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of the config file look like this
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { listedBridgePort, listedNames } from "./config-entries.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "svc-config-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function configFile(text: string): string {
  const file = join(dir, "config.yaml");
  writeFileSync(file, text);
  return file;
}

it("lists the names under workers and under the older modules", () => {
  expect(listedNames(configFile("workers:\n  - name: a\n    path: ./a\n  - name: svc-state\nmodules:\n  - name: svc-http\n"))).toEqual(
    new Set(["a", "svc-state", "svc-http"]),
  );
});

it.each([["workers: []\n"], [""], ["workers: 5\n"], ["- a\n"], ["{{{"]])("lists nothing for %j", (text) => {
  expect(listedNames(configFile(text))).toEqual(new Set());
});

it("lists nothing for a file that is not there", () => {
  expect(listedNames(join(dir, "no.yaml"))).toEqual(new Set());
});

it.each([
  ["engine: { bridge: { port: 50000 } }\n", 50_000],
  ["engine: { bridge: { port: '${PORT:50001}' } }\n", 50_001],
  ["engine: { bridge: { port: '${SET:50001}' } }\n", 50_002],
  ["engine: { bridge: { port: 0 } }\n", undefined],
  ["engine: { bridge: { port: many } }\n", undefined],
  ["engine: { bridge: { port: '${PORT}' } }\n", undefined],
  ["workers: []\n", undefined],
  ["{{{", undefined],
])("takes the bridge port of %j", (text, port) => {
  expect(listedBridgePort(configFile(text), { SET: "50002" })).toBe(port);
});
