import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { EXIT } from "../exit-codes.ts";
import { recordedShell } from "../shell.test-support.ts";
import { engineAddress, noEngine, probe, requireListener } from "./engine-address.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "svc-address-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

describe("the address of the engine", () => {
  it("is --url before everything else", () => {
    writeFileSync(join(dir, "config.yaml"), "engine: { bridge: { port: 50000 } }\n");

    expect(
      engineAddress(recordedShell({ cwd: dir, env: { SVC_URL: "ws://other:1" } }), { url: "ws://box:50001" }),
    ).toMatchObject({
      url: "ws://box:50001",
      from: "--url",
    });
  });

  it("is SVC_URL before the config file", () => {
    writeFileSync(join(dir, "config.yaml"), "engine: { bridge: { port: 50000 } }\n");

    expect(engineAddress(recordedShell({ cwd: dir, env: { SVC_URL: "ws://other:1" } }), {})).toMatchObject({
      url: "ws://other:1",
      from: "SVC_URL",
    });
  });

  it("uses the bridge port of ./config.yaml before the default", () => {
    writeFileSync(join(dir, "config.yaml"), "engine: { bridge: { port: 50000 } }\n");

    expect(engineAddress(recordedShell({ cwd: dir }), {})).toMatchObject({
      url: "ws://localhost:50000",
      from: "config",
    });
  });

  it("falls back to the default port", () => {
    expect(engineAddress(recordedShell({ cwd: dir }), {})).toMatchObject({
      url: "ws://localhost:49134",
      from: "default",
    });
  });

  it("is that of the project's running engine before the port of the file", () => {
    writeFileSync(join(dir, "config.yaml"), "engine: { bridge: { port: 50000 }, data_dir: store }\n");
    mkdirSync(join(dir, "store"));
    writeFileSync(join(dir, "store/engine.json"), JSON.stringify({ pid: process.pid, bridge: "ws://localhost:50007" }));

    expect(engineAddress(recordedShell({ cwd: dir }), {})).toMatchObject({
      url: "ws://localhost:50007",
      from: "announced",
    });
    expect(engineAddress(recordedShell({ cwd: dir, env: { SVC_URL: "ws://other:1" } }), {})).toMatchObject({
      from: "SVC_URL",
    });
  });

  it("comes with the token of the engine in the data folder, and of no other", () => {
    mkdirSync(join(dir, ".svc/data"), { recursive: true });
    writeFileSync(join(dir, ".svc/token"), "token-of-the-engine\n");
    const facts = { pid: process.pid, bridge: "ws://localhost:50007", token_file: join(dir, ".svc/token") };
    writeFileSync(join(dir, ".svc/data/engine.json"), JSON.stringify(facts));

    expect(engineAddress(recordedShell({ cwd: dir }), {})).toMatchObject({
      from: "announced",
      token: "token-of-the-engine",
    });
    expect(engineAddress(recordedShell({ cwd: dir }), { url: "ws://box:1" }).token).toBeUndefined();
    writeFileSync(join(dir, ".svc/data/engine.json"), JSON.stringify({ ...facts, token_file: undefined }));
    expect(engineAddress(recordedShell({ cwd: dir }), {}).token).toBeUndefined();
  });

  it("never comes with another file's content, because engine.json may be from a repository", () => {
    mkdirSync(join(dir, ".svc/data"), { recursive: true });
    writeFileSync(join(dir, ".npmrc"), "//registry.example/:_authToken=secret-of-the-user\n");
    symlinkSync(join(dir, ".npmrc"), join(dir, ".svc/token"));
    for (const token_file of [join(dir, ".npmrc"), join(dir, ".svc/token")]) {
      writeFileSync(
        join(dir, ".svc/data/engine.json"),
        JSON.stringify({ pid: process.pid, bridge: "wss://box.example", token_file }),
      );
      expect(engineAddress(recordedShell({ cwd: dir }), {})).toMatchObject({ from: "announced", token: undefined });
    }
    rmSync(join(dir, ".svc/token"));
    writeFileSync(join(dir, ".svc/token"), "two words that are no token\n");
    expect(engineAddress(recordedShell({ cwd: dir }), {}).token).toBeUndefined();
  });

  it.each([
    ["of a process that has exited", JSON.stringify({ pid: 2 ** 22 + 1, bridge: "ws://localhost:50007" })],
    ["without an address yet", JSON.stringify({ pid: process.pid })],
    ["with an invalid address", JSON.stringify({ pid: process.pid, bridge: "box" })],
    ["with an invalid pid", JSON.stringify({ pid: 0, bridge: "ws://localhost:50007" })],
    ["that is not JSON", "{"],
  ])("ignores an engine.json %s", (_case, text) => {
    writeFileSync(join(dir, "config.yaml"), "engine: { bridge: { port: 50000 } }\n");
    mkdirSync(join(dir, ".svc/data"), { recursive: true });
    writeFileSync(join(dir, ".svc/data/engine.json"), text);

    expect(engineAddress(recordedShell({ cwd: dir }), {})).toMatchObject({
      url: "ws://localhost:50000",
      from: "config",
    });
  });

  it("may be that of several engines", () => {
    const url = "ws://svc:a,b@one:1, wss://two:2";
    expect(engineAddress(recordedShell(), { url })).toMatchObject({
      url: "ws://svc:a,b@one:1",
      further: [{ url: "wss://two:2", shownUrl: "wss://two:2" }],
    });
    const many = Array.from({ length: 17 }, () => "ws://one:1").join(",");
    expect(() => engineAddress(recordedShell({ env: { SVC_URL: many } }), {})).toThrow(
      "SVC_URL has more than 16 addresses",
    );
  });

  it("is that of the first engine of svc dev --cluster that runs", () => {
    for (const [node, pid] of [
      ["a", 2 ** 22 + 1],
      ["b", process.pid],
      ["c", process.pid],
    ] as const) {
      const data = join(dir, ".svc/cluster", node, "data");
      mkdirSync(data, { recursive: true });
      writeFileSync(join(data, "engine.json"), JSON.stringify({ pid, bridge: `ws://localhost:5000${pid % 7}` }));
    }
    mkdirSync(join(dir, ".svc/cluster/nats"));

    expect(engineAddress(recordedShell({ cwd: dir }), {})).toMatchObject({
      url: `ws://localhost:5000${process.pid % 7}`,
      from: "announced",
    });
  });

  it("stays that of one engine of svc dev --cluster, also when an earlier one runs again", async () => {
    const facts = JSON.stringify({ pid: process.pid, bridge: "ws://localhost:50009" });
    for (const node of ["a", "b"]) mkdirSync(join(dir, ".svc/cluster", node, "data"), { recursive: true });
    writeFileSync(join(dir, ".svc/cluster/b/data/engine.json"), facts);
    const { prove } = engineAddress(recordedShell({ cwd: dir }), {});
    writeFileSync(join(dir, ".svc/cluster/a/data/engine.json"), facts.replace("50009", "50008"));

    await expect(prove?.()).rejects.toThrow("The engine at ws://localhost:50009 cannot prove");
  });

  it("hides a password when it shows the address", () => {
    expect(engineAddress(recordedShell(), { url: "ws://svc:secret@box:1" }).shownUrl).toBe("ws://***:***@box:1");
  });

  it.each(["localhost:49134", "http://localhost:49134", "49134", "ws://", "ws://a:1,b:2", "ws://a,b"])(
    "rejects %j as an address",
    (url) => {
      expect(() => engineAddress(recordedShell(), { url })).toThrow(expect.objectContaining({ exitCode: EXIT.usage }));
    },
  );
});

it("suggests svc create without a project, and svc dev with one", () => {
  const advice = (): readonly string[] =>
    noEngine(engineAddress(recordedShell({ cwd: dir }), {}), "nothing listens there").advice;
  expect(advice()[0]).toBe(`${join(dir, "config.yaml")} not found; create a project: svc create`);

  writeFileSync(join(dir, "config.yaml"), "workers: []\n");
  expect(advice()[0]).toBe("Start one in your project's folder: svc dev");
});

it("of several is the first that listens", async () => {
  const server = createServer();
  await once(server.listen(0, "127.0.0.1"), "listening");
  const open = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const address = engineAddress(recordedShell(), { url: `ws://127.0.0.1:1,${open},ws://127.0.0.1:2` });
  expect(await requireListener(address)).toMatchObject({
    url: open,
    further: [{ url: "ws://127.0.0.1:2" }, { url: "ws://127.0.0.1:1" }],
  });
  server.close();
  await once(server, "close");
  await expect(requireListener(address)).rejects.toThrow(
    `No engine reachable at ws://127.0.0.1:1, ${open}, ws://127.0.0.1:2 (given with --url): nothing listens there.`,
  );
});

it("reports that nothing listens at a free port", async () => {
  expect(await probe({ url: "ws://127.0.0.1:1", shownUrl: "", from: "--url" })).toBe("nothing listens there");
});
