import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Guide, openGuide } from "./run-guide.ts";

// The commands that the console shows are compared with these samples in packages/console/src/web/model/commands.test.ts.

const root = fileURLToPath(new URL("../../../", import.meta.url));
let guide: Guide;
let path: string;
beforeAll(async () => {
  guide = await openGuide("console.md", { configText: "workers:\n  - name: svc-state\n  - name: svc-stream\n" });
  path = [join(root, ".venv/bin"), join(guide.project, "bin"), process.env.PATH ?? ""].join(delimiter);
});
afterAll(() => guide?.close());

it.each([
  ["typescript", "worker.mjs"],
  ["python", "worker.py"],
])("connects a first worker in %s, and calls it", async (language, file) => {
  writeFileSync(join(guide.project, file), guide.text(`${language}-worker`));
  const found = (): Promise<unknown> =>
    guide.worker.call({ function_id: "engine::functions::list", payload: { search: "hello::greet" } });
  const worker = await guide.run(`${language}-start`, { env: { PATH: path } });
  await expect.poll(found).toMatchObject({ functions: [{ function_id: "hello::greet" }] });
  const { output } = await guide.finish("greet");
  expect(output).toContain("Hello you");
  await worker.stop();
  await expect.poll(found).toMatchObject({ functions: [] });
});

it("fills the pages Logs, Streams and States", async () => {
  for (const name of ["log", "stream", "state"]) await guide.finish(name);
  expect(await guide.worker.call({ function_id: "state::get", payload: { scope: "users", key: "ada" } })).toEqual({
    role: "admin",
  });
});

it("enables the Flow page", async () => {
  // Port 0, because 3113 may be taken on this machine.
  const child = spawn("sh", ["-c", `exec ${guide.text("flow").trim()} --port 0`], {
    cwd: guide.project,
    env: { ...process.env, PATH: path, SVC_URL: `ws://localhost:${guide.ports.bridge}` },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const closed = once(child, "close");
  const url = await new Promise<string>((resolve, reject) => {
    let output = "";
    child.stderr.on("data", (chunk: Buffer) => {
      output += chunk.toString();
      const [found] = /http:\/\/localhost:\d+/.exec(output) ?? [];
      if (found !== undefined) resolve(found);
    });
    void closed.then(() => reject(new Error(`the console ended: ${output}`)));
  });
  const [, token = ""] = /name="svc-page-token" content="([^"]+)"/.exec(await (await fetch(url)).text()) ?? [];
  const hello = await fetch(`${url}/api/hello`, { headers: { "x-svc-console": token } });
  expect(await hello.json()).toMatchObject({ ok: true, data: { flow_enabled: true } });
  child.kill("SIGTERM");
  await closed;
});
