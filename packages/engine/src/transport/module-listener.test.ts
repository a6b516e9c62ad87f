import { request } from "node:http";
import { afterEach, expect, test } from "vitest";
import { createLogger, type LogRecord } from "../kernel/logger.ts";
import type { ModuleListener } from "../kernel/module.ts";
import { openModuleListener } from "./module-listener.ts";
import { TokenGuard } from "./token-guard.ts";

const guard = new TokenGuard("secret-token");
const logged: LogRecord[] = [];
const open: ModuleListener[] = [];
afterEach(() => {
  for (const listener of open.splice(0)) listener.close();
});

async function listen(
  options: { readonly tokenRequired?: boolean; readonly fails?: boolean; readonly port?: number } = {},
): Promise<number> {
  const listener = await openModuleListener(
    {
      host: "127.0.0.1",
      port: options.port ?? 0,
      what: "tests",
      onRequest(_request, response) {
        if (options.fails === true) throw new Error("a secret of the module");
        response.end("served");
      },
    },
    {
      access: () => ({ allowedOrigins: ["http://allowed.example"], allowedHosts: ["collector.example"] }),
      tokenRefusal: (incoming) => guard.refusal(incoming, { required: options.tokenRequired ?? false }),
      maxConnectionsPerAddress: () => undefined,
      log: createLogger({ level: "debug", now: () => 0, write: (record) => logged.push(record) }),
    },
  );
  open.push(listener);
  return listener.port;
}

function get(
  port: number,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly status: number | undefined; readonly body: string }> {
  return new Promise((resolve, reject) => {
    request({ host: "127.0.0.1", port, path: "/", headers }, (response) => {
      let body = "";
      response.setEncoding("utf8");
      response.on("data", (text: string) => {
        body += text;
      });
      response.on("end", () => resolve({ status: response.statusCode, body }));
    })
      .on("error", reject)
      .end();
  });
}

test("a listener of a module serves whoever names it, and names that are allowed", async () => {
  const port = await listen();
  expect(await get(port)).toEqual({ status: 200, body: "served" });
  expect(await get(port, { host: "collector.example" })).toEqual({ status: 200, body: "served" });
});

test("a name that was made to resolve to this machine is not served there", async () => {
  expect((await get(await listen(), { host: "evil.example" })).status).toBe(421);
});

test("pages of other sites are refused, those of an allowed origin are not", async () => {
  const port = await listen();
  expect((await get(port, { origin: "http://evil.example" })).status).toBe(403);
  expect((await get(port, { "sec-fetch-site": "cross-site" })).status).toBe(403);
  expect((await get(port, { origin: "http://allowed.example", "sec-fetch-site": "cross-site" })).status).toBe(200);
});

test("where a token is wanted only its holders are served, and a wrong one is refused everywhere", async () => {
  const port = await listen({ tokenRequired: true });
  expect((await get(port)).status).toBe(401);
  expect((await get(port, { authorization: "Bearer secret-token" })).status).toBe(200);
  expect((await get(await listen(), { authorization: "Bearer other" })).status).toBe(401);
});

test("a module that fails answers 500 without its reason, which is logged", async () => {
  const answer = await get(await listen({ fails: true }));
  expect(answer.status).toBe(500);
  expect(answer.body).not.toContain("secret");
  expect(logged.some(({ message }) => message === "an HTTP handler failed")).toBe(true);
});

test("a port that is taken is told with the listener's name", async () => {
  const port = await listen();
  const again = openModuleListener(
    { host: "127.0.0.1", port, what: "tests", onRequest: () => {} },
    {
      access: () => ({ allowedOrigins: [], allowedHosts: [] }),
      tokenRefusal: () => undefined,
      maxConnectionsPerAddress: () => undefined,
      log: createLogger({ level: "debug", now: () => 0, write: () => {} }),
    },
  );
  await expect(again).rejects.toThrow(`cannot listen for tests on 127.0.0.1:${port}`);
});

test("a port that the engine has itself is told as such, with what it is for", async () => {
  const port = await listen();
  await expect(listen({ port })).rejects.toThrow(
    `port ${port} is in use by this engine itself, for tests; choose another port`,
  );
});
