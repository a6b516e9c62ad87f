// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of the config file look like this
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { listedBridgePort, listedDataDir, listedEntries } from "./config-entries.ts";

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

it("lists the entries under workers and under the older key modules", () => {
  expect([
    ...listedEntries(
      configFile("workers:\n  - name: a\n    path: ./a\n  - name: svc-state\nmodules:\n  - name: svc-http\n"),
    ).values(),
  ]).toEqual([
    { name: "a", kind: "local", folder: join(dir, "a"), dependsOn: [] },
    { name: "svc-state", kind: "module", folder: undefined, dependsOn: [] },
    { name: "svc-http", kind: "module", folder: undefined, dependsOn: [] },
  ]);
});

it("lists the commands of svc-exec and the dependencies of entries", () => {
  const text =
    "workers:\n  - name: a\n    path: ./a\n    depends_on: [build]\n  - name: svc-exec\n    config:\n      commands:\n        - { name: build, command: make, depends_on: [svc-state] }\n";
  expect([...listedEntries(configFile(text)).values()]).toEqual([
    { name: "a", kind: "local", folder: join(dir, "a"), dependsOn: ["build"] },
    { name: "svc-exec", kind: "module", folder: undefined, dependsOn: [] },
    { name: "build", kind: "command", folder: undefined, dependsOn: ["svc-state"] },
  ]);
});

it.each([
  ["engine: { data_dir: store }\n", "store"],
  ["engine: { data_dir: '${DATA:other}' }\n", "other"],
  ["engine: { data_dir: '${SET:other}' }\n", "50002"],
  ["workers: []\n", ".svc/data"],
  ["{{{", ".svc/data"],
])("reads the data folder of %j", (text, folder) => {
  expect(listedDataDir(configFile(text), { SET: "50002" })).toBe(join(dir, folder));
});

it.each([["workers: []\n"], [""], ["workers: 5\n"], ["- a\n"], ["{{{"]])("lists nothing for %j", (text) => {
  expect(listedEntries(configFile(text))).toEqual(new Map());
});

it("lists nothing for a missing file", () => {
  expect(listedEntries(join(dir, "no.yaml"))).toEqual(new Map());
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
])("reads the bridge port of %j", (text, port) => {
  expect(listedBridgePort(configFile(text), { SET: "50002" })).toBe(port);
});
