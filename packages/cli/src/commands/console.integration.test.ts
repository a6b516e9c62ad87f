import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { run } from "../main.ts";
import { startTestEngine, type TestEngine, type TestProject, testProject } from "../running-engine.test-support.ts";
import { type RecordedShell, recordedShell } from "../shell.test-support.ts";

let project: TestProject;
let engine: TestEngine;
beforeAll(async () => {
  project = testProject();
  engine = await startTestEngine(project);
});
afterAll(async () => {
  await engine?.stop();
  project?.remove();
});

interface Running {
  readonly shell: RecordedShell;
  readonly url: string;
  stop(): Promise<ExitCode>;
}

async function startConsole(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Running> {
  const shell = recordedShell({ cwd: project.dir, env: { PATH: process.env.PATH, ...env } });
  const ended = run(["console", "--port", "0", ...args], shell);
  const announced = shell.noted("/workers\n").then(() => "announced" as const);
  if ((await Promise.race([announced, ended])) !== "announced")
    throw new Error(`the console failed to start:\n${shell.written.notes}`);
  const url = /^The console is at (http:\/\/localhost:\d+)\/workers\n$/.exec(shell.written.notes)?.[1] ?? "";
  return {
    shell,
    url,
    stop: () => {
      shell.stop("SIGINT");
      return ended;
    },
  };
}

interface Hello {
  readonly engine: Readonly<Record<"bridge" | "http" | "realtime", string>>;
  readonly settings: readonly { readonly flag: string; readonly value: unknown; readonly source: string }[];
}

async function helloOf({ url }: Running): Promise<Hello> {
  const page = await (await fetch(url)).text();
  const token = /svc-page-token" content="([^"]+)"/.exec(page)?.[1] ?? "";
  const answer = await fetch(`${url}/api/hello`, { headers: { "x-svc-console": token } });
  return ((await answer.json()) as { readonly data: Hello }).data;
}

describe("svc console", () => {
  it("finds the project's engine, prints the address of the Workers page, and stops when asked", async () => {
    const running = await startConsole([]);
    const hello = await helloOf(running);
    expect(hello.engine.bridge).toBe(engine.url.replace("localhost", "127.0.0.1"));
    expect(engine.shell.written.notes).toContain(`:${new URL(hello.engine.http).port}`);
    expect(engine.shell.written.notes).toContain(`:${new URL(hello.engine.realtime).port}`);
    for (const flag of ["--engine-port", "--ws-port", "--bridge-port"])
      expect(hello.settings.find((each) => each.flag === flag)?.source).toBe("project");
    expect(running.shell.written.out).toBe("");
    expect(await running.stop()).toBe(EXIT.done);
    expect(running.shell.listeners()).toBe(0);
  });

  it("prefers flags over the engine that it finds", async () => {
    const running = await startConsole(["--ws-port", "1", "--read-only"]);
    const { engine: found, settings } = await helloOf(running);
    expect(found.realtime).toBe("ws://127.0.0.1:1");
    expect(found.bridge).toBe(engine.url.replace("localhost", "127.0.0.1"));
    expect(settings.find(({ flag }) => flag === "--ws-port")).toMatchObject({ value: 1, source: "flag" });
    await running.stop();
    const elsewhere = await startConsole(["--engine-host", "127.0.0.9"]);
    expect((await helloOf(elsewhere)).engine).toEqual({
      bridge: "ws://127.0.0.9:49134",
      http: "http://127.0.0.9:3111",
      realtime: "ws://127.0.0.9:3112",
    });
    await elsewhere.stop();
  });

  it("uses the engine of SVC_URL", async () => {
    const running = await startConsole([], { SVC_URL: "ws://svc:0123456789abcdef@127.0.0.7:4321" });
    expect((await helloOf(running)).engine.bridge).toBe("ws://127.0.0.7:4321");
    await running.stop();
  });
});

describe("a console that cannot start", () => {
  it("because its port is in use names the process and the flag for another port", async () => {
    const holder = createServer();
    await once(holder.listen(0, "127.0.0.1"), "listening");
    const { port } = holder.address() as AddressInfo;
    const shell = recordedShell({ cwd: project.dir });
    expect(await run(["console", "--port", String(port)], shell)).toBe(EXIT.failed);
    expect(shell.written.notes).toContain(`port ${port} is in use`);
    expect(shell.written.notes).toMatch(/Or use another port: svc console --port \d+\n/);
    const asked = recordedShell({ cwd: project.dir });
    const words = JSON.stringify(["svc", "dev", "--config", "a b.yaml", "--console-port", String(port)]);
    expect(await run(["console", "--port", String(port), "--asked-as", words], asked)).toBe(EXIT.failed);
    expect(asked.written.notes).toMatch(/Or use another port: svc dev --config 'a b.yaml' --console-port \d+\n/);
    expect(shell.written.notes).not.toContain("internal error");
    holder.close();
  });

  it.each([
    [
      "without a token off loopback",
      ["--host", "0.0.0.0", "--port", "0", "--engine-host", "127.0.0.1"],
      "--token-file FILE or SVC_TOKEN",
    ],
    ["without the token file", ["--token-file", "./nope"], "cannot be read"],
    ["with an invalid port", ["--port", "x"], "0 to 65535"],
    ["with an invalid host", ["--engine-host", "http://x"], "--engine-host"],
  ])("%s exits with 2", async (_name, args, message) => {
    const shell = recordedShell({ cwd: project.dir });
    expect(await run(["console", ...args], shell)).toBe(EXIT.usage);
    expect(shell.written.notes).toContain(message);
  });

  it("names the variable that is neither yes nor no", async () => {
    const shell = recordedShell({ cwd: project.dir, env: { SVC_ENABLE_FLOW: "maybe" } });
    expect(await run(["console"], shell)).toBe(EXIT.usage);
    expect(shell.written.notes).toContain("SVC_ENABLE_FLOW");
  });
});
