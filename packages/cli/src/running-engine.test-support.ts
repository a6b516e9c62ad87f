import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { ExitCode } from "./exit-codes.ts";
import { run } from "./main.ts";
import { type RecordedShell, recordedShell } from "./shell.test-support.ts";

/** A project in its own folder. `configText` is its config.yaml. */
export interface TestProject {
  readonly dir: string;
  readonly configFile: string;
  remove(): void;
}

export function testProject(configText = "# mine\nworkers: []\n"): TestProject {
  const dir = mkdtempSync(join(tmpdir(), "svc-project-"));
  const configFile = join(dir, "config.yaml");
  writeFileSync(configFile, configText);
  return { dir, configFile, remove: () => rmSync(dir, { recursive: true, force: true }) };
}

/** `svc --config …` run in this process on free ports. */
export interface TestEngine {
  readonly shell: RecordedShell;
  /** Address for `--url`. */
  readonly url: string;
  /** Stops the engine as Ctrl-C does. Resolves with its exit status. */
  stop(): Promise<ExitCode>;
}

export async function startTestEngine(
  project: TestProject,
  { bridgePort = 0 }: { readonly bridgePort?: number } = {},
): Promise<TestEngine> {
  const shell = recordedShell({ cwd: project.dir, env: { PATH: process.env.PATH } });
  const ended = run(
    ["--log", "text", "--bridge-port", String(bridgePort), "--http-port", "0", "--ws-port", "0"],
    shell,
  );
  const running = shell.noted("is running").then(() => "running" as const);
  if ((await Promise.race([running, ended])) !== "running")
    throw new Error(`the engine failed to start:\n${shell.written.notes}`);
  const url = /ws:\/\/localhost:\d+/.exec(shell.written.notes)?.[0];
  if (url === undefined) throw new Error(`the summary has no address:\n${shell.written.notes}`);
  return {
    shell,
    url,
    stop: () => {
      shell.stop("SIGINT");
      return ended;
    },
  };
}

/** A worker without dependencies that provides `probe::ping` and answers `{"pong":true}`. */
export async function writeProbeWorker(folder: string, manifest = PROBE_MANIFEST): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "svc.worker.yaml"), manifest);
  // Imported by its path, because a worker in a temporary folder finds no packages.
  const sockets = pathToFileURL(join(createRequire(import.meta.url).resolve("ws"), "..", "wrapper.mjs")).href;
  await writeFile(join(folder, "worker.mjs"), `import WebSocket from ${JSON.stringify(sockets)};\n${PROBE_SOURCE}`);
}

export const PROBE_MANIFEST = `name: probe-worker
runtime:
  kind: javascript
  package_manager: npm
  entry: worker.mjs
scripts:
  start: node worker.mjs
`;

const PROBE_SOURCE = `
const socket = new WebSocket(process.env.SVC_URL);
const send = (message) => socket.send(JSON.stringify(message));
socket.on("open", () => {
  const data = { runtime: "node", version: "1", name: "probe-worker", os: "test", pid: process.pid, isolation: null, telemetry: { language: "en", framework: "none" } };
  send({ type: "invokefunction", function_id: "engine::workers::register", data, action: { type: "void" } });
  send({ type: "registerfunction", id: "probe::ping" });
});
socket.on("message", (text) => {
  const message = JSON.parse(text);
  if (message.type === "invokefunction") send({ type: "invocationresult", invocation_id: message.invocation_id, function_id: message.function_id, result: { pong: true } });
});
`;
