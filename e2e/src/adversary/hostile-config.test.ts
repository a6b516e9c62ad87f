// A config file from a stranger. Starting an engine with it runs its commands, so users read it first. Reading and
// checking it must be safe.
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { startEngine, svc } from "../support/cli.ts";
import type { Client } from "./support/client.ts";
import { handshake } from "./support/requests.ts";
import { type Site, startSite } from "./support/site.ts";

const SECRET = "hunter2-is-the-secret";
const GOOD = `
workers:
  - name: svc-http
  - name: svc-state
`;

let site: Site;
let owner: Client;
let outside: string;

beforeAll(async () => {
  outside = mkdtempSync(join(tmpdir(), "svc-outside-"));
  site = await startSite(() => GOOD, { env: { SECRET, INJECTED: `x"\nengine: {insecure_bind: true}\n#` } });
  owner = site.owner;
  await owner.serve("owner::route", () => ({ status_code: 200, body: "owner" }));
  expect(await owner.bind("http", "owner::route", { api_path: "/owner" })).toMatchObject({ status: "active" });
  await owner.result("state::set", { scope: "s", key: "k", value: 1 });
});
afterAll(async () => {
  await site?.stop();
  rmSync(outside, { recursive: true, force: true });
});

/** The control of every test: the engine keeps its configuration and applies the next valid file. */
afterEach(async () => {
  expect(await (await fetch(`${site.http}/owner`)).json()).toBe("owner");
  expect(await owner.result("state::get", { scope: "s", key: "k" })).toBe(1);
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  await applied();
});

let edits = 0;
/** Restores a valid file, which the engine applies. */
async function applied(): Promise<void> {
  edits++;
  expect((await outcomeOf(`${GOOD}engine: { default_timeout_ms: ${20_000 + edits} }\n`)).message).toBe(
    "the config file was applied",
  );
}

/** Replaces the config file, as an editor does, and resolves with the engine's log line about it. */
async function outcomeOf(
  content: string | Buffer | { readonly linkTo: string },
): Promise<Readonly<Record<string, unknown>>> {
  const before = site.records().length;
  const next = join(site.folder, "next.yaml");
  if (typeof content === "string" || Buffer.isBuffer(content)) writeFileSync(next, content);
  else symlinkSync(content.linkTo, next);
  renameSync(next, join(site.folder, "config.yaml"));
  const found = () =>
    site
      .records()
      .slice(before)
      .find(({ message }) => /the running configuration stays|the config file was applied/.test(String(message)));
  await expect.poll(found, { timeout: 60_000, interval: 20 }).toBeDefined();
  return found() as Readonly<Record<string, unknown>>;
}

/** Expects that a file is rejected, and returns the reasons. */
async function refused(content: string | Buffer | { readonly linkTo: string }): Promise<string> {
  const record = await outcomeOf(content);
  expect([typeof content === "string" ? content.slice(0, 60) : "a file", record.message]).toEqual([
    expect.anything(),
    expect.stringContaining("stays"),
  ]);
  return JSON.stringify(record);
}

describe("a hostile config file", () => {
  it("with keys of a prototype, own tags or keys that nobody knows is refused", async () => {
    const text = `${GOOD}engine: { constructor: { prototype: { polluted: 1 } }, toString: 1, "\\e[31m": 1 }\n`;
    const reasons = await refused(text);
    for (const key of ["constructor", "toString"]) expect(reasons).toContain(key);
    expect(await refused(`${GOOD}__proto__: { polluted: 1 }\n`)).toContain("__proto__");
    expect(await refused(`${GOOD}engine: !!js/function 'function () { process.exit(1) }'\n`)).toContain(
      "config.yaml:5",
    );
  });

  it("with aliases that multiply, lists in lists, or too much text is refused before it uses up memory", async () => {
    const bomb = ["a: &a [x, x, x, x, x, x, x, x, x, x]"];
    for (const [at, name] of [..."bcdefghijk"].entries())
      bomb.push(`${name}: &${name} [${new Array(10).fill(`*${"abcdefghij"[at]}`).join(", ")}]`);
    expect(await refused(`${GOOD}${bomb.join("\n")}\n`)).toContain("more than 100000 values");
    expect(await refused(`${GOOD}engine: &a [*a]\n`)).toContain("contains it");
    expect(await refused(`${GOOD}engine: ${"[".repeat(300_000)}`)).toContain("nested deeper than 64 levels");
    expect(await refused(`${GOOD}# ${"x".repeat(1_100_000)}\n`)).toContain(
      "is larger than the maximum of 1048576 bytes",
    );
  });

  it("that is no file, no text or a device is refused without reading it to its end", async () => {
    expect(await refused({ linkTo: "/dev/zero" })).toContain("is not a regular file");
    // The engine reports only the first reason for a file that cannot be read, until it can be read again.
    await applied();
    expect(await refused(Buffer.from([0x61, 0x3a, 0x20, 0xff, 0xfe]))).toContain("is not UTF-8");
  });

  it("with absurd numbers and names is refused with every place", async () => {
    const reasons = await refused(`
workers:
  - { name: svc-http, config: { port: 99999, concurrency_request_limit: -1 } }
  - { name: svc-state }
  - { name: ../evil, path: ./a }
  - { name: ".", path: ./b }
  - { name: ok, path: ./c, replicas: 1000000000 }
  - { name: fine, path: "./d\\0e" }
engine: { drain_ms: .inf, default_timeout_ms: 1e308, legacy_call_timeout_ms: .nan, max_connections_per_address: -5, allowed_origins: ["*", "null"] }
`);
    for (const key of [
      "workers[0].config.port",
      "workers[0].config.concurrency_request_limit",
      "workers[2].name",
      "workers[3].name",
      "workers[4].replicas",
      "workers[5].path",
      "engine.drain_ms",
      "engine.default_timeout_ms",
      "engine.legacy_call_timeout_ms",
      "engine.max_connections_per_address",
      "engine.allowed_origins",
    ]) {
      expect(reasons).toContain(`: ${key}`);
    }
  });

  it("shows no secret of a variable or of an address in its mistakes, and cannot gain keys by what a variable holds", async () => {
    // biome-ignore-start lint/suspicious/noTemplateCurlyInString: the variables of a config file are written this way
    const reasons = await refused(
      `${GOOD}engine: { drain_ms: "\${SECRET}", log_level: "\${SECRET}", default_timeout_ms: "redis://me:${SECRET}@host", token: "\${SECRET}\${NOT_SET}" }\n`,
    );
    expect(reasons).toContain("SECRET");
    const injected = await outcomeOf(
      `${GOOD}engine: { allowed_hosts: [x], log_level: info, data_dir: "./\${INJECTED}" }\n`,
    );
    // biome-ignore-end lint/suspicious/noTemplateCurlyInString: see above
    expect(injected.message).toBe("the config file was applied");
    expect(JSON.stringify(await owner.result("engine::config::effective"))).not.toMatch(/"insecure_bind":\{?[^}]*true/);
    expect(site.engine.output()).not.toContain(SECRET);
  });

  it("does not open a running engine, nor move its data or its token: that needs a restart, which the log says", async () => {
    const before = site.records().length;
    const text = `${GOOD}engine: { insecure_bind: true, mode: development, token: a-token-of-the-stranger, bridge: { host: 0.0.0.0 }, data_dir: ${outside}/data, logs_dir: ${outside}/logs }\n`;
    expect((await outcomeOf(text)).message).toBe("the config file was applied");
    const lines = JSON.stringify(site.records().slice(before));
    for (const key of ["engine.data_dir", "engine.logs_dir", "engine.token", "engine.insecure_bind"])
      expect(lines).toContain(`${key} changed from `);
    expect(lines).toContain("it takes effect when the engine restarts");
    expect(lines).not.toContain("a-token-of-the-stranger");
    expect(await owner.result("engine::info")).not.toMatchObject({ data_dir: `${outside}/data` });
    // The stranger's token is not valid for this engine.
    const status = await handshake(`ws://127.0.0.1:${site.ports.bridge}/`, {
      headers: { authorization: "Bearer a-token-of-the-stranger" },
    });
    expect(status).toBe(401);
  });
});

it("svc config check reads a hostile file, starts nothing, and shows neither secrets nor control characters", async () => {
  const folder = mkdtempSync(join(tmpdir(), "svc-stranger-"));
  try {
    const commands = `${GOOD}  - name: svc-exec\n    config: { commands: [{ name: evil, command: "touch ${join(outside, "started")}" }] }\n`;
    writeFileSync(
      join(folder, "config.yaml"),
      `${commands}engine: { log_level: "\\e]0;owned\\a", drain_ms: "\${SECRET}" }\n`,
    );
    const checked = await svc(["config", "check"], { cwd: folder, env: { SECRET } });
    expect(checked.code).toBe(1);
    expect(checked.stderr).toContain("engine.log_level");
    expect(checked.stdout + checked.stderr).not.toMatch(/\p{Cc}(?<![\n\t])|hunter2/u);
    expect([existsSync(join(outside, "started")), existsSync(join(folder, ".svc"))]).toEqual([false, false]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

it("a data folder that is a link to that of a running engine is refused", async () => {
  const folder = mkdtempSync(join(tmpdir(), "svc-stranger-"));
  try {
    mkdirSync(join(folder, ".svc"));
    symlinkSync(join(site.folder, ".svc", "data"), join(folder, ".svc", "data"));
    writeFileSync(join(folder, "config.yaml"), "workers: []\n");
    await expect(startEngine({ cwd: folder, ports: { bridge: 0, http: 0, realtime: 0 } })).rejects.toThrow(
      "is in use by",
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
