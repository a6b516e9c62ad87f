import { EventEmitter, once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, request } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { freePort } from "@svc-runtime/protocol/testing";
import { afterEach, expect, it, vi } from "vitest";
import { EXIT } from "../exit-codes.ts";
import { run } from "../main.ts";
import { startTestEngine, type TestProject, testProject } from "../running-engine.test-support.ts";
import { type RecordedShell, recordedShell } from "../shell.test-support.ts";
import { engineAddress } from "./engine-address.ts";
import { withEngine } from "./engine-session.ts";

const TOKEN = "token-of-the-engine-of-this-folder";

const undo: (() => unknown)[] = [];
afterEach(async () => {
  vi.unstubAllEnvs();
  for (const step of undo.splice(0).reverse()) await step();
});

interface Imposter {
  readonly port: number;
  readonly url: string;
  /** Heads of all requests and upgrades. */
  readonly heads: string[];
  /** Resolves when the head of a request contains the text. */
  asked(text: string): Promise<void>;
  stop(): Promise<void>;
}

/** Records what it receives. Responds with `answer`, or like an engine to an unknown path; accepts no WebSocket. */
async function imposter(answer?: (message: IncomingMessage) => Promise<string>, atPort = 0): Promise<Imposter> {
  const heads: string[] = [];
  const came = new EventEmitter();
  const keep = ({ method, url, rawHeaders }: IncomingMessage): void => {
    heads.push([method, url, ...rawHeaders].join(" "));
    came.emit("head");
  };
  const server = createServer((message, response) => {
    keep(message);
    if (answer === undefined)
      response.writeHead(426).end('{"error":{"code":"invalid_message","message":"this port speaks WebSocket"}}');
    else void answer(message).then((body) => response.end(body));
  });
  server.on("upgrade", (message, socket) => {
    keep(message);
    socket.end(
      'HTTP/1.1 401 Unauthorized\r\nContent-Length: 52\r\nConnection: close\r\n\r\n{"error":{"code":"AUTH_ERROR","message":"no entry"}}',
    );
  });
  await once(server.listen(atPort, "127.0.0.1"), "listening");
  const stop = async (): Promise<void> => {
    if (!server.listening) return;
    server.closeAllConnections();
    await once(server.close(), "close");
  };
  undo.push(stop);
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `ws://127.0.0.1:${port}`,
    heads,
    stop,
    async asked(text) {
      while (!heads.some((head) => head.includes(text))) await once(came, "head");
    },
  };
}

function project(config?: string): TestProject {
  const made = testProject(config);
  undo.push(() => made.remove());
  return made;
}

/** A folder whose engine was killed: engine.json still exists, and its pid is reused by a live process. */
function crashed(
  bridge: string,
  facts: Readonly<Record<string, unknown>> = { proof_key: "k".repeat(43) },
): TestProject {
  const made = project();
  mkdirSync(join(made.dir, ".svc/data"), { recursive: true });
  writeFileSync(join(made.dir, ".svc/token"), `${TOKEN}\n`, { mode: 0o600 });
  const announced = {
    pid: process.pid,
    started_at: new Date().toISOString(),
    bridge,
    token_file: join(made.dir, ".svc/token"),
    ...facts,
  };
  writeFileSync(join(made.dir, ".svc/data/engine.json"), JSON.stringify(announced));
  return made;
}

async function svc(
  dir: string,
  args: readonly string[],
): Promise<{ readonly status: number; readonly notes: string; readonly shell: RecordedShell }> {
  const shell = recordedShell({ cwd: dir, env: { PATH: process.env.PATH } });
  return { status: await run(args, shell), notes: shell.written.notes, shell };
}

it.each([
  [["trigger", "--function-id=math::add", "--payload={}"]],
  [["worker", "list"]],
  [["state", "get", "scope", "key"]],
  [["functions"]],
  [["worker", "add", "svc-state"]],
])("svc %j sends no token to an imposter on the port in engine.json", async (args) => {
  const { url, heads } = await imposter();
  const { status, notes } = await svc(crashed(url).dir, args);

  expect(heads.join("\n")).not.toContain(TOKEN);
  expect(status).toBe(EXIT.noEngine);
  expect(notes).toContain(`${url} is not the engine of this folder`);
  expect(notes).toContain("svc dev");
  expect(notes).toContain(`--url ${url}`);
});

it("does not send SVC_TOKEN to an imposter from engine.json", async () => {
  const { url, heads } = await imposter();
  const { dir } = crashed(url);
  vi.stubEnv("SVC_TOKEN", "token-of-the-variable");

  expect((await svc(dir, ["worker", "list"])).status).toBe(EXIT.noEngine);
  expect(heads.join("\n")).not.toContain("token-of-the-variable");
});

it("sends SVC_TOKEN to an address that the user gave", async () => {
  const { url, heads } = await imposter();
  vi.stubEnv("SVC_TOKEN", "token-of-the-variable");

  expect((await svc(project().dir, ["worker", "list", "--url", url])).status).toBe(EXIT.failed);
  expect(heads.join("\n")).toContain("token-of-the-variable");
  expect(heads.join("\n")).not.toContain("engine-proof");
});

it("svc doctor and svc completion send no token to an imposter", async () => {
  const { url, heads } = await imposter();
  const { dir } = crashed(url);

  expect((await svc(dir, ["doctor"])).shell.written.out).toContain("is not the engine of this folder");
  await svc(dir, ["__complete", "functions"]);
  expect(heads.join("\n")).not.toContain(TOKEN);
});

it.each(["a", "b"])(
  "svc uses the other engines of a cluster if %s does not respond",
  { timeout: 60_000 },
  async (hung) => {
    const running = project("workers: []\n");
    const engine = await startTestEngine(running);
    undo.push(() => engine.stop());
    const silent = await imposter(() => new Promise(() => {}));
    const { dir } = project();
    const announce = (name: string, facts: string): void => {
      mkdirSync(join(dir, ".svc/cluster", name, "data"), { recursive: true });
      writeFileSync(join(dir, ".svc/cluster", name, "data/engine.json"), facts);
    };
    announce(hung, JSON.stringify({ pid: process.pid, bridge: silent.url, proof_key: "k".repeat(43) }));
    announce(hung === "a" ? "b" : "a", readFileSync(join(running.dir, ".svc/data/engine.json"), "utf8"));

    const { status, notes } = await svc(dir, ["worker", "list"]);
    const problem = `The process that listens at ${silent.url} is not the engine of this folder: it did not respond`;
    const said = notes.replaceAll(/\s+/g, " ");
    expect(said).toContain(`the workers of ${hung} are left out: ${problem}`);
    if (hung === "a") expect(said).toContain(`is used instead of the first one: ${problem}`);
    else expect(said).not.toContain("is used instead");
    expect(status).toBe(EXIT.done);
    expect((await svc(dir, ["functions"])).status).toBe(EXIT.done);
  },
);

it("an older engine without a proof gets no token, and the error asks for a restart", async () => {
  const { url, heads } = await imposter();
  const { status, notes } = await svc(crashed(url, {}).dir, ["worker", "list"]);

  expect(heads.join("\n")).not.toContain(TOKEN);
  expect(status).toBe(EXIT.noEngine);
  expect(notes).toContain(`The engine at ${url} cannot prove that it is the engine of this folder`);
  expect(notes).toContain("Restart");
});

it("an imposter cannot forward the proof of the running engine", async () => {
  const made = project("workers: []\nengine: {mode: production}\n");
  const engine = await startTestEngine(made);
  undo.push(() => engine.stop());
  const { url, heads } = await imposter(
    (message) =>
      new Promise((resolve, reject) => {
        const { port } = new URL(engine.url);
        const passed = request(
          { host: "127.0.0.1", port, path: message.url, headers: { host: `127.0.0.1:${port}` }, agent: false },
          (answer) => {
            let body = "";
            answer.on("data", (chunk: Buffer) => {
              body += chunk.toString();
            });
            answer.on("end", () => resolve(body));
          },
        );
        passed.on("error", reject).end();
      }),
  );
  const file = join(made.dir, ".svc/data/engine.json");
  const facts = JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>;
  const { status: before } = await svc(made.dir, ["worker", "list"]);
  expect(before).toBe(EXIT.done);
  writeFileSync(file, JSON.stringify({ ...facts, bridge: url }));

  const { status, notes } = await svc(made.dir, ["worker", "list"]);
  expect(heads.join("\n")).toContain("/engine-proof/");
  expect(status).toBe(EXIT.noEngine);
  expect(notes).toContain(`${url} is not the engine of this folder`);
});

it("svc console sends no token to an imposter on any announced port, and shows why it is not connected", {
  timeout: 20_000,
}, async () => {
  const { url, heads } = await imposter();
  const http = url.replace("ws:", "http:");
  const { dir } = crashed(url, { proof_key: "k".repeat(43), http, realtime: url });
  const shell = recordedShell({ cwd: dir, env: { PATH: process.env.PATH } });
  const ended = run(["console", "--port", "0", "--no-open"], shell);
  undo.push(async () => {
    shell.stop("SIGINT");
    await ended;
  });
  await shell.noted("/workers\n");
  const address = /http:\/\/localhost:\d+/.exec(shell.written.notes)?.[0];
  const pageToken = /svc-page-token" content="([^"]+)"/.exec(await (await fetch(`${address}/`)).text())?.[1] ?? "";
  const call = (path: string, body: unknown): Promise<Response> =>
    fetch(`${address}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-svc-console": pageToken },
      body: JSON.stringify(body),
    });

  expect(await (await call("/api/call", { function_id: "engine::info", payload: {} })).text()).toContain(
    `${url} is not the engine of this folder`,
  );
  await call("/_console/invoke", { function_id: "engine::info", payload: {} });
  expect(await (await call("/api/probes", {})).text()).toContain("is not the engine of this folder");
  expect(heads.join("\n")).toContain("/engine-proof/");
  expect(heads.join("\n")).not.toContain(TOKEN);
});

it("a disconnected command sends no token to a process that took the port, and reconnects to the engine", {
  timeout: 60_000,
}, async () => {
  const made = project("workers: []\nengine: {mode: production}\n");
  const bridgePort = await freePort();
  const first = await startTestEngine(made, { bridgePort });
  const facts = readFileSync(join(made.dir, ".svc/data/engine.json"), "utf8");
  const token = readFileSync(join(made.dir, ".svc/token"), "utf8").trim();
  const address = engineAddress(recordedShell({ cwd: made.dir }), {});

  await withEngine(address, "svc test", async (engine) => {
    await first.stop();
    // As after a crash.
    writeFileSync(join(made.dir, ".svc/data/engine.json"), facts);
    const { heads, asked, stop } = await imposter(undefined, bridgePort);
    await asked("/engine-proof/");
    expect(heads.join("\n")).not.toContain(token);
    await stop();
    const second = await startTestEngine(made, { bridgePort });
    undo.push(() => second.stop());
    await expect(engine.call({ function_id: "engine::info", payload: {} })).resolves.toMatchObject({
      data_dir: join(made.dir, ".svc/data"),
    });
    expect(heads.join("\n")).not.toContain(token);
  });
});
