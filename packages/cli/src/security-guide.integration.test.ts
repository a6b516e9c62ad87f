import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startEngine } from "@svc-runtime/engine";
import { freePort } from "@svc-runtime/protocol/testing";
import { connect, silentLogger } from "@svc-runtime/sdk";
import { ModuleKind, ScriptTarget, transpileModule } from "typescript";
import { afterEach, describe, expect, it } from "vitest";

const guide = readFileSync(new URL("../../../docs/guide/security.md", import.meta.url), "utf8");
const samples = (language: string): string[] =>
  [...guide.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "gms"))].map(([, text]) => text as string);

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

const TOKEN = "a-token-of-the-engine";
const KEY_OF_ACME = { authorization: "Bearer key-of-acme" };

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), "svc-guide-"));
  undo.push(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

function guest(url: string, headers: Readonly<Record<string, string>> = {}) {
  const worker = connect(url, { name: "guest", headers, handleSignals: false, logger: silentLogger });
  undo.push(() => worker.shutdown());
  return worker;
}

describe("the samples of docs/guide/security.md", () => {
  it("accept clients of the auth function and of a role's token, each with its own permissions", {
    timeout: 30_000,
  }, async () => {
    const dir = folder();
    writeFileSync(join(dir, "config.yaml"), samples("yaml")[0] as string);
    const engine = await startEngine({
      configFile: join(dir, "config.yaml"),
      env: { SVC_TOKEN: TOKEN, PUBLIC_PORT: "0", REPORTING_TOKEN: "token-of-reporting" },
      overrides: { bridgePort: 0, httpPort: 0, realtimePort: 0 },
    });
    undo.push(() => engine.stop({ graceMs: 0 }));

    const own = guest(engine.addresses.bridge);
    own.registerFunction("orders::list", () => ["one"]);
    own.registerFunction("orders::delete_all", () => "gone");
    own.registerFunction("api::ping", () => "pong");
    await own.connected();
    const available = new Promise<void>((resolve) => own.registerFunction("ready", () => resolve()));

    const program = `${samples("ts")[0]}\nvoid worker.call({ function_id: "ready" });\n`;
    const { outputText } = transpileModule(program, {
      compilerOptions: { module: ModuleKind.ESNext, target: ScriptTarget.ES2022 },
    });
    writeFileSync(join(dir, "worker.mjs"), outputText);
    symlinkSync(fileURLToPath(new URL("../../../node_modules", import.meta.url)), join(dir, "node_modules"));
    const child = spawn(process.execPath, ["worker.mjs"], {
      cwd: dir,
      env: { ...process.env, SVC_URL: engine.addresses.bridge, SVC_TOKEN: TOKEN },
      stdio: "ignore",
    });
    undo.push(async () => {
      child.kill("SIGKILL");
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    });
    await available;

    const [url] = engine.addresses.bridges as [string];
    const acme = guest(url, KEY_OF_ACME);
    expect(await acme.call({ function_id: "orders::list" })).toEqual(["one"]);
    expect(await acme.call({ function_id: "api::ping" })).toBe("pong");
    await expect(acme.call({ function_id: "orders::delete_all" })).rejects.toMatchObject({ code: "FORBIDDEN" });
    acme.registerFunction("greet", () => "hello");
    await acme.call({ function_id: "api::ping" });
    expect(await own.call({ function_id: "acme::greet" })).toBe("hello");

    const reporting = guest(url, { authorization: "Bearer token-of-reporting" });
    expect(await reporting.call({ function_id: "orders::list" })).toEqual(["one"]);
    await expect(reporting.call({ function_id: "orders::delete_all" })).rejects.toMatchObject({ code: "FORBIDDEN" });

    await expect(guest(url).connected({ timeoutMs: 1_000 })).rejects.toThrow();
  });

  it("in Python keep running after the registration", () => {
    const programs = samples("python").filter((code) => code.includes("svc.connect("));
    expect(programs.length).toBeGreaterThan(0);
    for (const code of programs) expect(code).toMatch(/^worker\.run\(\)\n$/m);
  });

  it("on TLS start an engine unchanged with the files that they name", async () => {
    const dir = folder();
    const port = await freePort();
    writeFileSync(join(dir, "config.yaml"), (samples("yaml")[1] as string).replace("49135", String(port)));
    mkdirSync(join(dir, "tls"));
    const certificates = new URL("../../engine/src/testing/certificates/", import.meta.url);
    const copies = { "cert.pem": "server.pem", "key.pem": "server.key", "clients.pem": "ca.pem" };
    for (const [to, from] of Object.entries(copies)) copyFileSync(new URL(from, certificates), join(dir, "tls", to));
    const engine = await startEngine({
      configFile: join(dir, "config.yaml"),
      env: { SVC_TOKEN: TOKEN },
      overrides: { bridgePort: 0, httpPort: 0, realtimePort: 0 },
    });
    undo.push(() => engine.stop({ graceMs: 0 }));
    expect(engine.addresses.bridges).toEqual([`wss://localhost:${port}`]);
    expect(engine.addresses.http).toMatch(/^https:/);
    expect(engine.addresses.bridge).toMatch(/^ws:/);
  });
});
