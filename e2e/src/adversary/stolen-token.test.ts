// An attacker with a removed token, with a role's token, or at an address to which the owner might send a token.
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type EngineProcess, startEngine, svc } from "../support/cli.ts";
import { type Client, connectClient } from "./support/client.ts";
import { handshake, send } from "./support/requests.ts";
import { type Site, type SitePorts, startSite } from "./support/site.ts";

const ENGINE = "token-of-the-engine-itself";
const ROTATED = "token-of-the-engine-since-today";
const GUEST = "token-of-the-guest-role";
const ANYTHING = "token-of-the-anything-role";
const STOLEN = "token-of-the-stolen-role";
const NARROWED = "token-of-the-narrowed-role";
const TOKENS = [ENGINE, ROTATED, GUEST, ANYTHING, STOLEN, NARROWED];

let site: Site;
let owner: Client;
const clients: Client[] = [];

const role = (name: string, token: string): string => `{ token: ${token}, role: ${name} }`;
const config = (
  { restricted }: SitePorts,
  options: { readonly narrowed: string; readonly tokens: readonly string[] },
): string => `
engine:
  mode: production
  bridges:
    - port: ${restricted}
      rbac:
        roles:
          guest: { allowed_functions: ["guest::*", "api::*"] }
          anything: { allowed_functions: ["*"] }
          stolen: { allowed_functions: ["api::*"] }
          narrowed: { allowed_functions: [${options.narrowed}] }
        tokens: [${options.tokens.join(", ")}]
workers:
  - name: svc-http
  - name: svc-state
  - name: svc-stream
  - name: svc-observability
`;

beforeAll(async () => {
  site = await startSite(
    (ports) =>
      config(ports, {
        narrowed: '"api::*"',
        tokens: [role("guest", GUEST), role("anything", ANYTHING), role("stolen", STOLEN), role("narrowed", NARROWED)],
      }),
    { env: { SVC_TOKEN: ENGINE }, token: ENGINE },
  );
  owner = site.owner;
  await owner.serve("api::hello", () => "hello");
  await owner.serve("owner::secret", () => "secret");
  await owner.serve("owner::page", () => ({ status_code: 200, body: "page" }));
  expect(await owner.bind("http", "owner::page", { api_path: "/page" })).toMatchObject({ status: "active" });
});
afterAll(async () => {
  restarted?.child.kill("SIGTERM");
  await restarted?.exited;
  await site?.stop();
});

let restarted: EngineProcess | undefined;

/** The control of every test: the holders of valid tokens still work, with unchanged rights. */
afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  if (site.engine.child.exitCode !== null || site.engine.child.signalCode !== null) return;
  expect(await owner.result("owner::secret")).toBe("secret");
  const guest = await connected(GUEST);
  expect(await guest.result("api::hello")).toBe("hello");
  guest.close();
  expect((await fetch(`${site.http}/page`)).status).toBe(200);
});

async function connected(token: string): Promise<Client> {
  const client = await site.connect({ token, name: "holder" });
  clients.push(client);
  return client;
}

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
const everySocket = (): string[] => [
  `ws://localhost:${site.ports.bridge}/`,
  `ws://localhost:${site.ports.bridge}/otel`,
  `ws://localhost:${site.ports.restricted}/`,
  `ws://localhost:${site.ports.realtime}/`,
];
const invoke = (headers: Readonly<Record<string, string>>, query = "") =>
  send(`${site.http}/_console/invoke${query}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: '{"function_id":"owner::secret","payload":{}}',
  });

describe("without a valid token", () => {
  it("nothing but the owner's routes is open in production, from this machine either", async () => {
    const wrong = [
      undefined,
      "",
      "a-wrong-token-of-some-length",
      ENGINE.slice(0, -1),
      `${ENGINE}x`,
      ENGINE.toUpperCase(),
    ];
    for (const token of wrong) {
      const headers = token === undefined ? {} : bearer(token).headers;
      for (const url of everySocket())
        expect([url, token, await handshake(url, { headers })]).toEqual([url, token, 401]);
      const { status, body } = await invoke(headers);
      expect([token, status, body.includes("secret")]).toEqual([token, 401, false]);
    }
    expect((await invoke(bearer(ENGINE).headers)).body).toContain("secret");
  });

  it("a token in the query string, a cookie or a channel's key opens nothing", async () => {
    const query = `?token=${ENGINE}&access_token=${ENGINE}&svc_token=${ENGINE}&key=${ENGINE}`;
    const headers = {
      cookie: `token=${ENGINE}; SVC_TOKEN=${ENGINE}`,
      "x-svc-token": ENGINE,
      "proxy-authorization": `Bearer ${ENGINE}`,
    };
    for (const url of everySocket()) expect([url, await handshake(url + query, { headers })]).toEqual([url, 401]);
    expect((await invoke(headers, query)).status).toBe(401);
    const channel = `ws://localhost:${site.ports.bridge}/ws/channels/00000000-0000-4000-8000-000000000000?key=${ENGINE}&dir=read`;
    expect(await handshake(channel)).not.toBe("open");
  });
});

describe("the token of a role", () => {
  it("opens only its listener, with the rights of the role", async () => {
    const [bridge, otel, , realtime] = everySocket() as [string, string, string, string];
    for (const token of [GUEST, ANYTHING]) {
      for (const url of [bridge, otel, realtime])
        expect([url, await handshake(url, bearer(token))]).toEqual([url, 401]);
      expect((await invoke(bearer(token).headers)).status).toBe(401);
    }
    const guest = await connected(GUEST);
    for (const id of [
      "owner::secret",
      "state::get",
      "state::set",
      "stream::list",
      "engine::traces::list",
      "engine::logs::list",
      "engine::functions::list",
    ]) {
      expect([id, await guest.codeOf(id)]).toEqual([id, "FORBIDDEN"]);
    }
  });

  it("does not administer the engine, though its pattern matches every function", async () => {
    const anything = await connected(ANYTHING);
    expect(await anything.result("owner::secret")).toBe("secret");
    for (const id of [
      "worker::add",
      "worker::list",
      "worker::stop",
      "worker::restart",
      "worker::logs",
      "engine::config::effective",
      "engine::config::check",
      "engine::shutdown",
    ]) {
      expect([id, await anything.codeOf(id, { name: "svc-state" })]).toEqual([
        id,
        expect.stringMatching(/^(FORBIDDEN|function_not_found)$/),
      ]);
    }
    // These exist: the control of the list above.
    for (const id of ["worker::list", "engine::config::effective"])
      expect([id, await anything.codeOf(id)]).toEqual([id, "FORBIDDEN"]);
  });
});

it("no token is in the log, the traces or the settings that the engine shows", async () => {
  await connected(GUEST);
  const query = `?token=${ENGINE}&access_token=${GUEST}`;
  for (const url of everySocket()) await handshake(url + query, bearer(`${ENGINE}x`));
  await send(`${site.http}/page${query}`, bearer(GUEST));
  await send(`${site.http}/not-there${query}`, bearer(GUEST));
  await owner.result("api::hello");
  await expect
    .poll(async () => ((await owner.result("engine::traces::list", { text: "/page" })) as { total: number }).total)
    .toBeGreaterThan(0);
  const seen: unknown[] = [];
  for (const id of [
    "engine::traces::list",
    "engine::logs::list",
    "engine::config::effective",
    "engine::workers::list",
    "worker::list",
    "engine::info",
  ]) {
    seen.push([id, await owner.call(id, { data: { include_internal: true, limit: 100 } })]);
  }
  for (const token of TOKENS) {
    expect([token, site.engine.output().includes(token)]).toEqual([token, false]);
    expect([token, JSON.stringify(seen).includes(token)]).toEqual([token, false]);
  }
});

it("a token that is removed from the file, or whose role gets fewer rights, loses its connections and what it registered", async () => {
  const [stolen, narrowed, guest] = [await connected(STOLEN), await connected(NARROWED), await connected(GUEST)];
  await stolen.serve("stolen::function", () => "stolen");
  expect(await stolen.bind("http", "stolen::function", { api_path: "/stolen" })).toMatchObject({ status: "active" });
  expect(await narrowed.result("api::hello")).toBe("hello");
  site.edit(config(site.ports, { narrowed: "", tokens: [role("guest", GUEST), role("narrowed", NARROWED)] }));
  await Promise.all([stolen.closed, narrowed.closed]);
  await expect.poll(() => owner.codeOf("stolen::function")).toBe("function_not_found");
  await expect.poll(async () => (await fetch(`${site.http}/stolen`)).status).toBe(404);
  await expect(connected(STOLEN)).rejects.toThrow("401");
  await expect(connected(ANYTHING)).rejects.toThrow("401");
  const again = await connected(NARROWED);
  expect(await again.codeOf("api::hello")).toBe("FORBIDDEN");
  // No client without access takes over the former connection, and the former rights are gone.
  again.say({ type: "reattach", previous_worker_id: stolen.id, reattach_token: stolen.reattachToken });
  await again.settled();
  expect(await again.codeOf("api::hello")).toBe("FORBIDDEN");
  expect(await owner.codeOf("stolen::function")).toBe("function_not_found");
  // Connections of other tokens stay open.
  expect(await guest.result("api::hello")).toBe("hello");
});

it("a program that takes the port of a crashed engine gets no token from a command; the former token is refused after a change", async () => {
  site.engine.child.kill("SIGKILL");
  await site.engine.exited;
  // The pid in the crashed engine's files belongs to a running process again.
  const announcement = join(site.folder, ".svc", "data", "engine.json");
  writeFileSync(announcement, JSON.stringify({ ...JSON.parse(readFileSync(announcement, "utf8")), pid: process.pid }));
  const heads: string[] = [];
  const imposter = createServer((request, response) => {
    heads.push([request.url, ...request.rawHeaders].join(" "));
    response.writeHead(426).end();
  });
  imposter.on("upgrade", (request, socket) => {
    heads.push([request.url, ...request.rawHeaders].join(" "));
    socket.destroy();
  });
  await once(imposter.listen(site.ports.bridge, "localhost"), "listening");
  const command = await svc(["trigger", "--function-id", "owner::secret", "--payload", "{}"], {
    cwd: site.folder,
    env: { SVC_TOKEN: ENGINE },
  });
  imposter.closeAllConnections();
  await new Promise((resolve) => imposter.close(resolve));
  expect([command.code, heads.length > 0, heads.join("\n").includes(ENGINE)]).toEqual([3, true, false]);
  expect(command.stdout + command.stderr).not.toContain(ENGINE);

  restarted = await startEngine({ cwd: site.folder, ports: site.ports, env: { SVC_TOKEN: ROTATED } });
  for (const url of everySocket()) expect([url, await handshake(url, bearer(ENGINE))]).toEqual([url, 401]);
  expect((await invoke(bearer(ENGINE).headers)).status).toBe(401);
  const client = await connectClient(`ws://127.0.0.1:${site.ports.bridge}/`, { token: ROTATED });
  expect(await client.codeOf("state::list", { scope: "s" })).toBeUndefined();
  client.close();
});
