import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { EXIT } from "./exit-codes.ts";
import { type TestProject, testProject } from "./running-engine.test-support.ts";

// The real program, as npm links it. It runs the output of `tsc -b`.
const program = fileURLToPath(new URL("../bin/svc.js", import.meta.url));
const FREE_PORTS = ["--bridge-port", "0", "--http-port", "0", "--ws-port", "0"];

let project: TestProject;
beforeEach(() => {
  project = testProject();
});
const started = new Set<ChildProcess>();
afterEach(() => {
  // Processes that a failed test left running.
  for (const child of started) child.kill("SIGKILL");
  started.clear();
  project.remove();
});

function start(args: readonly string[], nodeOptions: readonly string[] = []) {
  const { SVC_URL: _, ...env } = process.env;
  const child = spawn(process.execPath, [...nodeOptions, program, ...args], {
    cwd: project.dir,
    env: { ...env, NO_COLOR: "", FORCE_COLOR: "" },
    stdio: ["pipe", "pipe", "pipe"],
  });
  started.add(child);
  return child;
}

async function svc(...args: readonly string[]) {
  const child = start(args);
  child.stdin.end();
  const [out, notes, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return { status: status as number, out, notes };
}

/** Reads an engine's log until it contains the bridge's address. Later lines are dropped. */
function bridgePortOf(log: Readable): Promise<string> {
  return new Promise((settle) => {
    let heard = "";
    log.on("data", (chunk: string) => {
      heard += chunk;
      const port = /"bridge":"ws:\/\/localhost:(\d+)"/.exec(heard)?.[1];
      if (port !== undefined) settle(port);
    });
  });
}

describe("the exit status of svc", () => {
  it("is 0 for help, on standard output and without colours in a pipe", async () => {
    const { status, out, notes } = await svc("--help");

    expect({ status, notes }).toEqual({ status: EXIT.done, notes: "" });
    expect(out).toContain("Usage: svc");
    expect(out).not.toContain("\u001b");
  });

  it("is 1 if there is no config file", async () => {
    expect(await svc("--config", "none.yaml")).toMatchObject({
      status: EXIT.failed,
      out: "",
      notes: expect.stringContaining("none.yaml"),
    });
  });

  it("is 2 for a payload that is not JSON", async () => {
    expect(await svc("trigger", "--function-id=math::add", "--payload={a:1}")).toMatchObject({
      status: EXIT.usage,
      out: "",
      notes: expect.stringContaining("position 1"),
    });
  });

  it("is 3 if no engine is reachable", async () => {
    expect(await svc("trigger", "--function-id=math::add", "--url=ws://127.0.0.1:1")).toMatchObject({
      status: EXIT.noEngine,
      out: "",
    });
  });
});

describe("an engine in the foreground", () => {
  it("logs JSON lines into a pipe, logs its addresses, and exits with 0 at SIGTERM", async () => {
    const child = start(FREE_PORTS);
    const lines: Record<string, unknown>[] = [];
    const ended = once(child, "close");
    for await (const chunk of child.stderr.setEncoding("utf8")) {
      for (const line of (chunk as string).split("\n").filter((part) => part !== ""))
        lines.push(JSON.parse(line) as Record<string, unknown>);
      if (lines.at(-1)?.message === "the engine is up") child.kill("SIGTERM");
    }

    expect((await ended)[0]).toBe(EXIT.done);
    expect(lines.find((line) => line.message === "the engine is up")).toMatchObject({
      bridge: expect.stringMatching(/^ws:\/\/localhost:\d+$/),
      http: expect.stringMatching(/^http:\/\/localhost:\d+$/),
      realtime: expect.stringMatching(/^ws:\/\/localhost:\d+$/),
    });
  });

  it.each([
    ["an exception that nothing catches", 'throw new Error("injected")'],
    ["a rejection that nothing handles", 'Promise.reject(new Error("injected"))'],
  ])("exits with 70 after %s, and prints the error with its stack (X-7)", async (_, defect) => {
    const child = start(FREE_PORTS, [
      `--import=data:text/javascript,process.on("SIGUSR2", () => { ${encodeURIComponent(defect)} })`,
    ]);
    const ended = once(child, "close");
    let log = "";
    let isInjected = false;
    for await (const chunk of child.stderr.setEncoding("utf8")) {
      log += chunk as string;
      if (isInjected || !log.includes("the engine is up")) continue;
      isInjected = true;
      child.kill("SIGUSR2");
    }

    expect((await ended)[0]).toBe(EXIT.internal);
    expect(log).toMatch(/^internal error: Error: injected\n +at .*data:text\/javascript/m);
    expect(log).not.toContain("the engine has stopped");
  });

  it("stops when standard input ends with --stop-with-stdin", async () => {
    const child = start([...FREE_PORTS, "--stop-with-stdin"]);
    const ended = once(child, "close");
    for await (const chunk of child.stderr.setEncoding("utf8")) {
      if ((chunk as string).includes("the engine is up")) child.stdin.end();
    }

    expect((await ended)[0]).toBe(EXIT.done);
  });

  it("survives a closed log pipe", async () => {
    const child = start(FREE_PORTS);
    const ended = once(child, "close");
    await once(child.stderr, "data");
    child.stderr.destroy();

    child.kill("SIGTERM");

    expect((await ended)[0]).toBe(EXIT.done);
  });

  it("exits with 1 if a port is in use, and names the port and the process", async () => {
    const first = start(FREE_PORTS);
    const firstEnded = once(first, "close");
    const taken = await bridgePortOf(first.stderr.setEncoding("utf8"));
    const other = testProject();

    const second = await svc(
      "--config",
      other.configFile,
      "--bridge-port",
      taken,
      "--http-port",
      "0",
      "--ws-port",
      "0",
    );

    other.remove();
    first.kill("SIGTERM");
    expect(second.status).toBe(EXIT.failed);
    expect(second.notes).toContain(`port ${taken} is in use`);
    expect(second.notes).toContain(`svc --config ${other.configFile} --http-port 0 --ws-port 0 --bridge-port `);
    if (process.platform === "linux") expect(second.notes).toContain(`process ${first.pid}`);
    expect((await firstEnded)[0]).toBe(EXIT.done);
  });
});
