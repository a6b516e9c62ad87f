// One project, as a new user sees it: create, config, doctor, mcp, console, generate types, its worker's checks.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePorts } from "@svc-runtime/protocol/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type EngineProcess, type Ports, startEngine } from "../support/cli.ts";
import { eventually } from "../support/processes.ts";
import { openTerminal, type Terminal } from "../support/terminal.ts";

const INSTALL = { timeoutMs: 180_000 };
const parent = mkdtempSync(join(tmpdir(), "svc-commands-"));
const project = join(parent, "shop");
/**
 * Returns when the worker is ready or has failed: it is installed first, and restarts when one of its files is written.
 */
const UP = "svc trigger worker::wait name=greeter timeout_ms=170000 --timeout-ms=175000";
let ports: Ports;
let engine: EngineProcess | undefined;
let terminal: Terminal;

beforeAll(async () => {
  ports = await freePorts();
  // The tester may have an engine at the default port.
  terminal = await openTerminal({ cwd: parent, rows: 60, env: { SVC_BRIDGE_PORT: String(ports.bridge) } });
});

afterAll(async () => {
  await terminal?.close();
  engine?.child.kill("SIGTERM");
  await engine?.exited;
  rmSync(parent, { recursive: true, force: true });
});

describe("svc create", () => {
  it("asks for template and folder, and leaves nothing behind at Ctrl-C", async () => {
    await terminal.start("svc create");
    await terminal.shows(/● quickstart +a Python and a TypeScript worker[\s\S]*○ blank/);
    await terminal.press("C-c");
    expect(await terminal.ended()).toMatchObject({
      status: 1,
      text: expect.stringContaining("Nothing was created.") as string,
    });

    await terminal.start("svc create");
    await terminal.shows("● quickstart");
    await terminal.press("Down");
    await terminal.shows("● typescript");
    await terminal.press("Enter");
    await terminal.shows("Folder of the project [typescript]:");
    await terminal.type("shop");
    await terminal.press("Enter");
    const { status, text } = await terminal.ended();
    expect(status).toBe(0);
    expect(text).toContain("Created shop from the template typescript.");
    expect(text).toMatch(/Next:\n {2}cd shop\n {2}svc dev\n/);
  });
});

describe("in the project", () => {
  beforeAll(async () => {
    await terminal.execute("cd shop");
  });

  it("svc config check and explain need no engine", async () => {
    expect(await terminal.execute("svc config check")).toMatchObject({
      status: 0,
      text: expect.stringMatching(/config\.yaml.*ok/) as string,
    });
    expect(await terminal.execute("env -u SVC_BRIDGE_PORT svc config explain engine.bridge.port")).toMatchObject({
      status: 0,
      text: expect.stringContaining("49134") as string,
    });

    expect(await terminal.execute("sed -i 's/svc-state/svc-sate/' config.yaml; svc config check")).toMatchObject({
      status: 1,
      text: expect.stringMatching(/config\.yaml:4:\d+[\s\S]*did you mean svc-state\?/) as string,
    });
    await terminal.execute("sed -i 's/svc-sate/svc-state/' config.yaml");
  });

  it("svc doctor finds problems before the engine runs, and none with it", async () => {
    expect(await terminal.execute("svc doctor", INSTALL)).toMatchObject({
      text: expect.stringMatching(/Node[\s\S]*svc dev/) as string,
    });

    engine = await startEngine({ cwd: project, ports });
    expect(await terminal.execute(UP, INSTALL)).toMatchObject({ status: 0 });
    expect(await terminal.execute("svc trigger greeter::greet name=Ada")).toMatchObject({
      status: 0,
      text: expect.stringContaining('{"text":"Hello Ada","times":1}') as string,
    });

    let shown = await terminal.execute("svc doctor", INSTALL);
    const isOnTime = async (): Promise<boolean> => {
      if (!shown.text.includes("event loop lag")) return true;
      shown = await terminal.execute("svc doctor", INSTALL);
      return false;
    };
    await eventually("svc doctor reports no lag of the event loop", isOnTime, 60_000);
    const { status, text } = shown;
    expect({ status, text }).toMatchObject({
      status: 0,
      text: expect.stringMatching(/^ok +worker greeter +ready/m) as string,
    });
    expect(text).not.toMatch(/^problem /m);
  });

  it("svc mcp requires --allow", async () => {
    const { status, text } = await terminal.execute("svc mcp");

    expect({ status, text }).toMatchObject({
      status: 2,
      text: expect.stringContaining(
        "No functions are allowed; give the functions that agents may call with --allow",
      ) as string,
    });
    expect(text).toMatch(/^For example: svc mcp --allow 'shop::\*'$/m);
  });

  it("svc mcp prints its tools and its address, serves there, and exits with 0 at Ctrl-C", async () => {
    await terminal.start("svc mcp --allow 'greeter::*' --http 0");
    const [, url = ""] = await terminal.shows(
      /Served at (http:\/\/localhost:\d+\/mcp) [\s\S]*^ {2}Authorization: Bearer \S+$\s^Press Ctrl-C to stop\.$/m,
    );
    expect(await terminal.screen()).toMatch(/^Tools: greeter::greet, greeter::http$/m);
    expect((await fetch(url, { method: "POST" })).status).toBe(401);

    await terminal.press("C-c");

    expect(await terminal.ended()).toMatchObject({ status: 0 });
    await expect(fetch(url)).rejects.toThrow();
  });

  it("svc console prints its address, serves there, and exits with 0 at Ctrl-C", async () => {
    await terminal.start("svc console --port 0 --no-open");
    const [, url = ""] = await terminal.shows(/^The console is at (http:\/\/localhost:\d+\/workers)$/m);
    expect(await (await fetch(url)).text()).toContain("<title>");

    await terminal.press("C-c");

    expect(await terminal.ended()).toMatchObject({ status: 0 });
    await expect(fetch(url)).rejects.toThrow();
  });

  it("svc generate types writes types for the worker's formats", async () => {
    const generate =
      "svc generate types --lang typescript --include 'greeter::*' --out workers/greeter/src/functions.ts";
    expect(await terminal.execute(generate)).toMatchObject({
      status: 0,
      text: expect.stringMatching(/functions\.ts written: 2 typed/) as string,
    });
    expect(readFileSync(join(project, "workers/greeter/src/functions.ts"), "utf8")).toContain(
      '"greeter::greet": { payload: GreeterGreetPayload',
    );
    // The file is in the worker's watched folder, so the worker restarts meanwhile.
    await expect
      .poll(() => terminal.execute(`${generate} --check`), { timeout: 30_000 })
      .toMatchObject({ status: 0, text: expect.stringContaining("is up to date") as string });
  });

  it("the worker's checks pass with the generated types", async () => {
    const { status, text } = await terminal.execute("(cd workers/greeter && npm run check && npm test)", INSTALL);

    expect({ status, text }).toMatchObject({ status: 0, text: expect.stringMatching(/pass 3\s/) as string });
  });
});
