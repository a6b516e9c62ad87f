import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { WebSocket } from "ws";
import { startEngine } from "../../engine.ts";
import { endpoint, json } from "../../outbound-http/testing/endpoint.ts";

const undo: (() => unknown)[] = [];

afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

const config = (more: string): string =>
  `workers:\n  - name: svc-http\n    config: {port: 0}\nengine:\n  bridge: {port: 0}\n${more}`;

it("every engine calls functions over HTTP, by the rules of its config file and with the secrets of its environment", async () => {
  const server = await endpoint((request, response) => json(response, { said: request.headers.authorization }));
  undo.push(server.stop);
  const dir = mkdtempSync(join(tmpdir(), "svc-http-functions-"));
  undo.push(() => rmSync(dir, { recursive: true, force: true }));
  const file = join(dir, "config.yaml");
  writeFileSync(file, config(""));
  const engine = await startEngine({
    configFile: file,
    env: { TOKEN: "t0p" },
    overrides: { bridgePort: 0, realtimePort: 0 },
  });
  undo.push(() => engine.stop({ graceMs: 0 }));

  const socket = new WebSocket(engine.addresses.bridge);
  undo.push(() => socket.terminate());
  const register = (): void =>
    socket.send(
      `{"type":"registerfunction","id":"ext::b","invocation":{"url":"http://127.0.0.1:${server.port}/","auth":{"type":"bearer","token_key":"TOKEN"}}}`,
    );
  const refused = new Promise<string>((resolve) => {
    socket.on("message", (data) => {
      if (String(data).includes('"type":"error"')) resolve(String(data));
    });
  });
  socket.on("open", register);
  expect(JSON.parse(await refused)).toMatchObject({
    error: { code: "url_validation_failed", message: expect.stringContaining("require_https: false") },
  });

  writeFileSync(file, config("  http_functions: {require_https: false, block_private_ips: false}\n"));
  await expect.poll(() => engine.config.engine.httpFunctions.requireHttps).toBe(false);
  register();
  const invoke = async (): Promise<unknown> => {
    const response = await fetch(`${engine.addresses.http}/_console/invoke`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"function_id":"ext::b"}',
    });
    return response.json();
  };
  await expect.poll(invoke).toEqual({ said: "Bearer t0p" });
  expect(engine.modules().map(({ name }) => name)).toEqual(["svc-observability", "svc-http"]);
});

it("a restricted connection's functions stay its own, go by its own names, and cannot be sent the engine's secrets", async () => {
  const server = await endpoint((request, response) => json(response, request.headers["x-svc-function-path"]));
  undo.push(server.stop);
  const dir = mkdtempSync(join(tmpdir(), "svc-http-functions-"));
  undo.push(() => rmSync(dir, { recursive: true, force: true }));
  const file = join(dir, "config.yaml");
  const token = "guest-".repeat(8);
  const rbac = `{roles: {guest: {function_registration_prefix: guest}}, tokens: [{token: ${token}, role: guest}]}`;
  writeFileSync(
    file,
    `workers:\n  - name: svc-http\n    config: {port: 0}\nengine:\n  bridge: {port: 0, rbac: ${rbac}}\n  http_functions: {require_https: false, block_private_ips: false}\n`,
  );
  const engine = await startEngine({
    configFile: file,
    env: { SECRET: "s3cret" },
    overrides: { bridgePort: 0, realtimePort: 0 },
  });
  undo.push(() => engine.stop({ graceMs: 0 }));
  const socket = new WebSocket(engine.addresses.bridge, { headers: { authorization: `Bearer ${token}` } });
  undo.push(() => socket.terminate());
  const errors: string[] = [];
  socket.on("message", (data) => {
    if (String(data).includes('"type":"error"')) errors.push(String(data));
  });
  const url = `http://127.0.0.1:${server.port}/`;
  socket.on("open", () => {
    socket.send(
      JSON.stringify({
        type: "registerfunction",
        id: "greedy",
        invocation: { url, auth: { type: "bearer", token_key: "SECRET" } },
      }),
    );
    socket.send(JSON.stringify({ type: "registerfunction", id: "plain", invocation: { url } }));
  });
  const invoke = async (function_id: string): Promise<unknown> => {
    const response = await fetch(`${engine.addresses.http}/_console/invoke`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ function_id }),
    });
    return response.json();
  };
  await expect.poll(() => invoke("guest::plain")).toBe("plain");
  expect(await invoke("guest::greedy")).toMatchObject({ error: { code: "function_not_found" } });
  expect(errors).toEqual([expect.stringContaining("a restricted connection may not use `auth`")]);
  expect(server.requests).toHaveLength(1);
});
