import { createHmac, randomUUID } from "node:crypto";
import { once } from "node:events";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { type IncomingMessage, request as plainRequest } from "node:http";
import { request as tlsRequest } from "node:https";
import { connect as connectTcp } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { engineProofKey, engineProofText, tokenSubprotocols } from "@svc-runtime/protocol";
import { freePort } from "@svc-runtime/protocol/testing";
import { afterEach, describe, expect, it } from "vitest";
import { type ClientOptions, WebSocket } from "ws";
import { type RunningEngine, startEngine } from "./engine.ts";
import { createLogger, type LogRecord } from "./kernel/logger.ts";
import { certificate, certificateFile } from "./testing/certificates.ts";

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

const TOKEN = "a-token-of-the-engine";

interface Site {
  readonly engine: RunningEngine;
  readonly dir: string;
  readonly records: readonly LogRecord[];
  edit(config: string): void;
  /** Resolves when a line of the log contains the text. */
  logged(text: string): Promise<LogRecord>;
}

interface Options {
  readonly dir?: string;
  readonly env?: Record<string, string>;
  readonly overrides?: Parameters<typeof startEngine>[0]["overrides"];
  /** The config file sets the port of the HTTP listener, so that it can be changed. */
  readonly hasHttpPort?: boolean;
}

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), "svc-access-"));
  undo.push(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

async function start(
  config: string,
  { dir = folder(), env = {}, overrides = {}, hasHttpPort = false }: Options = {},
): Promise<Site> {
  const file = join(dir, "config.yaml");
  writeFileSync(file, config);
  const records: LogRecord[] = [];
  const watchers = new Set<() => void>();
  const logger = createLogger({
    level: "debug",
    now: () => Date.now(),
    write(record) {
      records.push(record);
      for (const watcher of watchers) watcher();
    },
  });
  const engine = await startEngine({
    configFile: file,
    logger,
    env,
    overrides: { bridgePort: 0, ...(hasHttpPort ? {} : { httpPort: 0 }), realtimePort: 0, ...overrides },
  });
  undo.push(() => engine.stop({ graceMs: 0 }));
  return {
    engine,
    dir,
    records,
    edit: (text) => writeFileSync(file, text),
    logged: (text) =>
      new Promise((resolve) => {
        const look = (): void => {
          const found = records.find(({ message }) => message.includes(text));
          if (found === undefined) return;
          watchers.delete(look);
          resolve(found);
        };
        watchers.add(look);
        look();
      }),
  };
}

interface Refused {
  readonly status: number | undefined;
  readonly challenge: string | undefined;
  readonly body: string;
}

/** Returns the open socket with its first message, or how the upgrade was refused. */
async function dial(
  url: string,
  options: ClientOptions & { readonly protocols?: string[] } = {},
): Promise<WebSocket | Refused> {
  const { protocols = [], ...rest } = options;
  const socket = new WebSocket(url, protocols, { handshakeTimeout: 5_000, ...rest });
  undo.push(() => socket.terminate());
  return new Promise((resolve, reject) => {
    socket.once("open", () => resolve(socket));
    socket.once("error", reject);
    socket.once("unexpected-response", (_request, response) => void read(response).then(resolve, reject));
  });
}

async function read(response: IncomingMessage): Promise<Refused> {
  let body = "";
  for await (const chunk of response) body += String(chunk);
  return { status: response.statusCode, challenge: response.headers["www-authenticate"], body };
}

async function send(
  url: string,
  options: {
    readonly method?: string;
    readonly headers?: Record<string, string>;
    readonly body?: string;
    readonly ca?: Buffer;
  } = {},
): Promise<Refused & { readonly headers: IncomingMessage["headers"] }> {
  const { body, ...rest } = options;
  const sent = (url.startsWith("https") ? tlsRequest : plainRequest)(url, rest);
  sent.end(body);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return { ...(await read(response)), headers: response.headers };
}

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
const basic = (pair: string) => ({ headers: { authorization: `Basic ${Buffer.from(pair).toString("base64")}` } });
const empty = "workers: []\n";
const at = (url: string, host: string): string => url.replace("localhost", host);

describe("the proof that an engine is that of its data folder", () => {
  const nonce = "n".repeat(43);
  const proofUrl = (bridge: string, asked = nonce): string =>
    `${at(bridge, "127.0.0.1").replace("ws:", "http:")}/engine-proof/${asked}`;

  it("is an HMAC over the nonce, the address and the port, by the key in engine.json and the token of the file", async () => {
    const { engine, dir } = await start(`${empty}engine: {mode: production}\n`);
    const { proof_key: key } = JSON.parse(readFileSync(join(dir, ".svc", "data", "engine.json"), "utf8")) as {
      readonly proof_key: string;
    };
    const token = readFileSync(join(dir, ".svc", "token"), "utf8").trim();
    expect(Buffer.from(key, "base64url")).toHaveLength(32);
    const { status, body, headers } = await send(proofUrl(engine.addresses.bridge));
    const text = engineProofText({ nonce, address: "127.0.0.1", port: Number(new URL(engine.addresses.bridge).port) });
    expect(status).toBe(200);
    expect(JSON.parse(body)).toEqual({
      proof: createHmac("sha256", engineProofKey(key, token)).update(text).digest("base64url"),
    });
    expect(headers["cache-control"]).toBe("no-store");
    const { proof } = JSON.parse(body) as { readonly proof: string };
    expect(await dial(engine.addresses.bridge, bearer(proof))).toMatchObject({ status: 401 });
  });

  it("has another key in each run, and without a token file does not depend on the token", async () => {
    const dir = folder();
    const keyOf = (): string =>
      (JSON.parse(readFileSync(join(dir, ".svc", "data", "engine.json"), "utf8")) as { readonly proof_key: string })
        .proof_key;
    const first = await start(empty, { dir });
    const before = keyOf();
    await first.engine.stop({ graceMs: 0 });
    const { engine } = await start(empty, { dir, env: { SVC_TOKEN: TOKEN } });
    expect(keyOf()).not.toBe(before);
    const { body } = await send(proofUrl(engine.addresses.bridge));
    const text = engineProofText({ nonce, address: "127.0.0.1", port: Number(new URL(engine.addresses.bridge).port) });
    expect(JSON.parse(body)).toEqual({
      proof: createHmac("sha256", engineProofKey(keyOf(), undefined)).update(text).digest("base64url"),
    });
  });

  it("is refused to pages, to requests for another host, and for a nonce of another size", async () => {
    const { engine } = await start(`${empty}engine: {bridges: [{port: 0}]}\n`);
    const { bridge, bridges } = engine.addresses;
    expect(await send(proofUrl(bridge), { headers: { host: "evil.example" } })).toMatchObject({ status: 421 });
    expect(await send(proofUrl(bridge), { headers: { origin: "http://evil.example" } })).toMatchObject({ status: 403 });
    expect(await send(proofUrl(bridge), { headers: { "sec-fetch-site": "cross-site" } })).toMatchObject({
      status: 403,
    });
    expect(await send(proofUrl(bridge), { method: "POST" })).toMatchObject({ status: 405 });
    for (const asked of ["", "n".repeat(42), "n".repeat(44), `${"n".repeat(42)}.`])
      expect(await send(proofUrl(bridge, asked))).toMatchObject({ status: 400 });
    // A further listener is not in engine.json.
    expect(await send(proofUrl(bridges[0] ?? ""))).toMatchObject({ status: 426 });
  });
});

describe("the token of an engine (gap 55)", () => {
  it("is made at the first start, for its owner alone, and stays", async () => {
    const dir = folder();
    const first = await start(empty, { dir });
    const file = join(dir, ".svc", "token");
    const token = readFileSync(file, "utf8").trim();
    expect(Buffer.from(token, "base64url")).toHaveLength(32);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(join(dir, ".svc", "data", "engine.json"), "utf8"))).toMatchObject({
      token_file: file,
    });
    await first.engine.stop({ graceMs: 0 });
    chmodSync(file, 0o644);
    const second = await start(empty, { dir });
    expect(readFileSync(file, "utf8").trim()).toBe(token);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await dial(second.engine.addresses.bridge, bearer(token))).toBeInstanceOf(WebSocket);
  });

  it("is refused with the file's name when the file holds something else, and the engine leaves nothing behind", async () => {
    const dir = folder();
    await (await start(empty, { dir })).engine.stop({ graceMs: 0 });
    writeFileSync(join(dir, ".svc", "token"), "short\n");
    await expect(start(empty, { dir })).rejects.toThrow(
      `the token file ${join(dir, ".svc", "token")} contains no valid token`,
    );
    expect(existsSync(join(dir, ".svc", "data", "engine.json"))).toBe(false);
    rmSync(join(dir, ".svc", "token"));
    await start(empty, { dir });
  });

  it("may come from SVC_TOKEN or the file, is then written nowhere, and no error or setting shows it", async () => {
    const { engine, dir, records } = await start(`${empty}engine: {token: file-token-of-the-engine}\n`, {
      env: { SVC_TOKEN: TOKEN },
    });
    expect(existsSync(join(dir, ".svc", "token"))).toBe(false);
    expect(await dial(engine.addresses.bridge, bearer(TOKEN))).toBeInstanceOf(WebSocket);
    expect(await dial(engine.addresses.bridge, bearer("file-token-of-the-engine"))).toMatchObject({ status: 401 });
    expect(engine.config.effective.find(({ key }) => key === "engine.token")).toEqual({
      key: "engine.token",
      value: "***",
      source: "env",
      secret: true,
    });
    expect(JSON.stringify([records, engine.config.effective])).not.toContain(TOKEN);
    for (const [config, env] of [
      [`${empty}engine: {token: 's3cret thing that is bad'}\n`, {}],
      [
        `${empty}engine: {bridge: {rbac: {roles: {r: {}}, tokens: [{token: "s3cret thing that is bad", role: r}]}}}\n`,
        {},
      ],
      [empty, { SVC_TOKEN: "s3cret thing that is bad" }],
    ] as const) {
      const error = await start(config, { env }).catch((thrown: Error) => thrown.message);
      expect(error).toContain("must have 16 to 512 characters");
      expect(error).not.toContain("s3cret");
    }
  });

  it("may be left out on loopback; a wrong one is refused all the same, before any frame", async () => {
    const { engine } = await start(empty, { env: { SVC_TOKEN: TOKEN } });
    const { bridge, realtime, http } = engine.addresses;
    for (const url of [bridge, `${bridge}/otel`, realtime]) {
      expect(await dial(url)).toBeInstanceOf(WebSocket);
      expect(await dial(url, bearer(TOKEN))).toBeInstanceOf(WebSocket);
      expect(await dial(url, basic(`svc:${TOKEN}`))).toBeInstanceOf(WebSocket);
      expect(await dial(url, basic(`anybody:${TOKEN}`))).toBeInstanceOf(WebSocket);
      expect(await dial(url.replace("://", `://svc:${TOKEN}@`))).toBeInstanceOf(WebSocket);
      for (const wrong of [
        bearer("wrong"),
        bearer(`${TOKEN}x`),
        basic("svc:wrong"),
        basic(TOKEN),
        { headers: { authorization: "Digest x" } },
      ]) {
        expect(await dial(url, wrong)).toMatchObject({
          status: 401,
          challenge: expect.stringContaining("Bearer"),
          body: expect.stringContaining("AUTH_ERROR"),
        });
      }
      expect(await dial(url, { headers: { authorization: "" } })).toMatchObject({ status: 401 });
    }
    expect(await send(`${http}/_console/x`, bearer("wrong"))).toMatchObject({ status: 401 });
    expect(await send(`${http}/_console/x`)).toMatchObject({ status: 404 });
  });

  it("is taken from a browser as a sub-protocol, which is not said back (W9)", async () => {
    const { engine } = await start(empty, { env: { SVC_TOKEN: TOKEN }, overrides: { mode: "production" } });
    const socket = (await dial(engine.addresses.realtime, { protocols: tokenSubprotocols(TOKEN) })) as WebSocket;
    expect(socket.protocol).toBe("svc");
    expect(await dial(engine.addresses.realtime, { protocols: tokenSubprotocols("wrong") })).toMatchObject({
      status: 401,
    });
    const cookies = { headers: { cookie: `token=${TOKEN}; svc.token=${TOKEN}` } };
    expect(await dial(engine.addresses.realtime, cookies)).toMatchObject({ status: 401 });
  });

  it("is wanted of everybody in production, on loopback too", async () => {
    const { engine } = await start(`${empty}engine: {mode: production}\n`, { env: { SVC_TOKEN: TOKEN } });
    const { bridge, realtime, http } = engine.addresses;
    for (const url of [bridge, `${bridge}/otel`, realtime]) {
      expect(await dial(url)).toMatchObject({ status: 401, challenge: expect.stringContaining("Bearer") });
      expect(await dial(url, bearer(TOKEN))).toBeInstanceOf(WebSocket);
    }
    expect(await send(`${http}/_console/invoke`, { method: "POST" })).toMatchObject({ status: 401 });
    expect(await send(`${http}/_console/x`, bearer(TOKEN))).toMatchObject({ status: 404 });
    expect(await send(`${http}/healthz`)).toMatchObject({ status: 200 });
    // A channel's key is its own credential.
    expect(await dial(`${bridge}/ws/channels/x?key=y&dir=read`)).toMatchObject({ status: 404 });
  });
});

describe("an engine off loopback (gap 55)", () => {
  it.each([
    ["engine.bridge", "engine: {bridge: {host: 0.0.0.0}}\n"],
    ["engine.bridges[0]", "engine: {bridges: [{port: 0, host: 0.0.0.0, rbac: {}}]}\n"],
    ["svc-http", "workers: [{name: svc-http, config: {host: 0.0.0.0, port: 0}}]\n"],
    ["svc-stream", "workers: [{name: svc-stream, config: {host: '::'}}]\n"],
  ])("does not start without a token that somebody chose: %s", async (key, config) => {
    const dir = folder();
    const error = await start(config, { dir }).catch((thrown: Error) => thrown.message);
    expect(error).toContain(`${key}.host is`);
    expect(error).toContain("set engine.token (or the variable SVC_TOKEN)");
    expect(error).toContain("--insecure-bind");
    expect(existsSync(join(dir, ".svc"))).toBe(false);
  });

  it("wants the token of workers and console, and serves the user's routes without", async () => {
    const config =
      "workers:\n  - name: svc-http\n    config: {host: 0.0.0.0, port: 0}\nengine: {bridge: {host: 0.0.0.0}}\n";
    const { engine } = await start(config, { env: { SVC_TOKEN: TOKEN } });
    const { bridge, http } = engine.addresses;
    expect(bridge).toMatch(/^ws:\/\/localhost:/);
    expect(await dial(at(bridge, "127.0.0.1"))).toMatchObject({ status: 401 });
    expect(await dial(at(bridge, "127.0.0.1"), bearer(TOKEN))).toBeInstanceOf(WebSocket);
    const local = at(http, "127.0.0.1");
    expect(await send(`${local}/_console/x`)).toMatchObject({ status: 401 });
    expect(await send(`${local}/anything`)).toMatchObject({ status: 404 });
    // Routes are published under names of the user's choice.
    expect(await send(`${local}/anything`, { headers: { host: "api.example" } })).toMatchObject({ status: 404 });
    // A bridge still checks its Host, so that pages cannot reach it (W5).
    expect(
      await dial(at(bridge, "127.0.0.1"), {
        headers: { ...bearer(TOKEN).headers, host: `evil.example:${new URL(bridge).port}` },
      }),
    ).toMatchObject({
      status: 421,
    });
    expect(
      await dial(at(bridge, "127.0.0.1"), {
        headers: { ...bearer(TOKEN).headers, host: `0.0.0.0:${new URL(bridge).port}` },
      }),
    ).toMatchObject({
      status: 421,
    });
  });

  it.each([
    ["of the host", "engine:\n  bridge: { host: 127.0.0.1 }\n"],
    ["that lets anybody in", "engine:\n  bridge: { host: 0.0.0.0 }\n  insecure_bind: true\n"],
  ])(
    "goes on wanting the token after a change %s: until it restarts, it listens where it did",
    async (_what, edited) => {
      const { engine, edit, logged } = await start("engine:\n  bridge: { host: 0.0.0.0 }\n", {
        env: { SVC_TOKEN: TOKEN },
      });
      edit(edited);
      await logged("the config file was applied");
      expect(await dial(`ws://127.0.0.1:${new URL(engine.addresses.bridge).port}/`)).toMatchObject({ status: 401 });
    },
  );

  it("starts with the token of an earlier start, and with --insecure-bind without any", async () => {
    const dir = folder();
    await (await start(empty, { dir })).engine.stop({ graceMs: 0 });
    const second = await start("engine: {bridge: {host: 0.0.0.0}}\n", { dir });
    expect(await dial(second.engine.addresses.bridge)).toMatchObject({ status: 401 });
    const third = await start("engine: {bridge: {host: 0.0.0.0}}\n", { overrides: { insecureBind: true } });
    expect(await dial(third.engine.addresses.bridge)).toBeInstanceOf(WebSocket);
    const shown = `ws://0.0.0.0:${new URL(third.engine.addresses.bridge).port} (every interface)`;
    expect(
      third.records.find(({ level, message }) => level === "warn" && message.includes("insecure_bind"))?.message,
    ).toBe(
      `listeners off loopback require no token (insecure_bind), so every client that reaches them can run functions: ${shown}`,
    );
    // The URL for local workers does not change.
    expect(third.engine.addresses.bridge).toMatch(/^ws:\/\/localhost:/);
    expect(third.engine.boundTo).toEqual({ ...third.engine.addresses, bridge: shown });
    expect(third.records.find(({ message }) => message === "the engine is up")?.fields).toMatchObject({
      exposed: [shown],
    });
    expect(second.records.find(({ message }) => message === "the engine is up")?.fields).toMatchObject({
      exposed: [expect.stringContaining("(every interface)")],
    });
  });

  it("does not start with an optional token and nothing that says what strangers may do", async () => {
    await expect(
      start("engine: {bridges: [{host: 0.0.0.0, port: 0, token: optional}]}\n", { env: { SVC_TOKEN: TOKEN } }),
    ).rejects.toThrow("engine.bridges[0].token is optional: add engine.bridges[0].rbac");
  });
});

describe("TLS", () => {
  const tls = (more = "") => `tls: {cert: ./server.pem, key: ./server.key${more}}`;

  function withCertificates(): string {
    const dir = folder();
    for (const name of ["server.pem", "server.key", "ca.pem"] as const)
      copyFileSync(certificateFile(name), join(dir, name));
    return dir;
  }

  it("serves wss and https on every listener, from files beside the config, and says so in its addresses", async () => {
    const dir = withCertificates();
    const config = `workers:\n  - name: svc-http\n    config: {port: 0, ${tls()}}\n  - name: svc-stream\n    config: {${tls()}}\nengine:\n  bridge: {${tls()}}\n  bridges: [{port: 0, ${tls()}}]\n`;
    const { engine } = await start(config, { dir });
    const { bridge, bridges, http, realtime } = engine.addresses;
    expect([bridge, ...bridges, realtime].map((url) => new URL(url).protocol)).toEqual(["wss:", "wss:", "wss:"]);
    expect(JSON.parse(readFileSync(join(dir, ".svc", "data", "engine.json"), "utf8"))).toMatchObject({ bridge, http });
    const ca = certificate("ca.pem");
    for (const url of [bridge, ...bridges, realtime]) expect(await dial(url, { ca })).toBeInstanceOf(WebSocket);
    expect(await send(`${http}/healthz`, { ca })).toMatchObject({ status: 200 });
    await expect(dial(bridge)).rejects.toThrow(/certificate|self-signed|unable to verify/);
    await expect(dial(bridge.replace("wss", "ws"))).rejects.toThrow();
  });

  it("asks for a client's certificate where client_ca is set", async () => {
    const { engine } = await start(`engine: {bridge: {${tls(", client_ca: ./ca.pem")}}}\n`, {
      dir: withCertificates(),
    });
    const ca = certificate("ca.pem");
    await expect(dial(engine.addresses.bridge, { ca })).rejects.toThrow();
    expect(
      await dial(engine.addresses.bridge, { ca, cert: certificate("client.pem"), key: certificate("client.key") }),
    ).toBeInstanceOf(WebSocket);
  });

  it.each([
    [
      "{cert: /dev/zero, key: ./server.key}",
      /the TLS certificate for workers cannot be read: \/dev\/zero: it is not a file of at most 4194304 bytes/,
    ],
    [
      "{cert: ./missing.pem, key: ./server.key}",
      /the TLS certificate for workers cannot be read: .*missing\.pem: there is no such file/,
    ],
    [
      "{cert: ./server.key, key: ./server.key}",
      /the TLS certificate for workers is not a PEM certificate: .*server\.key/,
    ],
    ["{cert: ./server.pem, key: ./server.pem}", /the TLS key for workers is not a PEM private key/],
    [
      `{cert: ./server.pem, key: '${certificateFile("other.key")}'}`,
      /the TLS certificate and key for workers do not belong together: .*server\.pem/,
    ],
    [
      "{cert: ./server.pem, key: ./server.key, client_ca: ./server.key}",
      /the client authority for workers is not a PEM certificate/,
    ],
  ])("refuses to start with %s and says what is wrong", async (files, message) => {
    await expect(start(`engine: {bridge: {tls: ${files}}}\n`, { dir: withCertificates() })).rejects.toThrow(message);
  });

  it("takes a renewed certificate when the config file changes, and keeps the old one when the new is broken", async () => {
    const dir = withCertificates();
    const config = `workers:\n  - name: svc-http\n    config: {port: 0, ${tls()}}\n`;
    const { engine, edit, logged } = await start(config, { dir });
    const serial = async (): Promise<string> => {
      const socket: TLSSocket = connectTls({
        port: Number(new URL(engine.addresses.http).port),
        host: "127.0.0.1",
        ca: certificate("ca.pem"),
        servername: "localhost",
      });
      await once(socket, "secureConnect");
      const { serialNumber } = socket.getPeerCertificate();
      socket.destroy();
      return serialNumber;
    };
    const before = await serial();
    writeFileSync(join(dir, "server.pem"), "nothing");
    edit(`${config}# one\n`);
    await logged("a certificate could not be read again");
    expect(await serial()).toBe(before);
    writeFileSync(join(dir, "server.pem"), certificate("renewed.pem"));
    writeFileSync(join(dir, "server.key"), certificate("renewed.key"));
    edit(`${config}# two\n`);
    await expect.poll(serial).not.toBe(before);
  });
});

describe("a hostile page", () => {
  it("opens no socket on any listener (W1), not from a sandboxed frame (W2), not under a name of its own (W5), not by 0.0.0.0 (W6)", async () => {
    const { engine } = await start("engine: {bridges: [{port: 0, rbac: {}}]}\n");
    const { bridge, bridges, realtime } = engine.addresses;
    for (const url of [bridge, `${bridge}/otel`, ...bridges, realtime]) {
      const { port } = new URL(url);
      expect(await dial(url, { origin: "http://evil.example" })).toMatchObject({ status: 403 });
      expect(await dial(url, { origin: "null" })).toMatchObject({ status: 403 });
      expect(await dial(url, { origin: `http://localhost:${port}` })).toMatchObject({ status: 403 });
      expect(await dial(url, { headers: { host: `evil.example:${port}` } })).toMatchObject({ status: 421 });
      expect(await dial(url, { headers: { host: `0.0.0.0:${port}` } })).toMatchObject({ status: 421 });
      expect(await dial(url, { headers: { host: "localhost:1" } })).toMatchObject({ status: 421 });
    }
    expect(
      await send(`${engine.addresses.http}/`, { headers: { host: `0.0.0.0:${new URL(engine.addresses.http).port}` } }),
    ).toMatchObject({ status: 421 });
  });

  it("calls nothing through the console's paths: not by forms, images, or methods that browsers send unasked (W3, W4), not from another port (W9, gap 59)", async () => {
    const { engine } = await start(empty);
    const invoke = `${engine.addresses.http}/_console/invoke`;
    const body = JSON.stringify({ function_id: "engine::info", payload: {} });
    const json = { "content-type": "application/json" };
    const post = (headers: Record<string, string>) => send(invoke, { method: "POST", headers, body });
    expect(await post(json)).toMatchObject({ status: 200 });
    expect(await post({ ...json, origin: engine.addresses.http })).toMatchObject({ status: 200 });
    expect(await post({ "content-type": "text/plain" })).toMatchObject({ status: 415 });
    expect(await post({ "content-type": "application/x-www-form-urlencoded" })).toMatchObject({ status: 415 });
    expect(await post({})).toMatchObject({ status: 415 });
    expect(await post({ ...json, origin: "http://localhost:5173" })).toMatchObject({ status: 403 });
    expect(await post({ ...json, origin: "null" })).toMatchObject({ status: 403 });
    for (const site of ["same-site", "cross-site"])
      expect(await post({ ...json, "sec-fetch-site": site })).toMatchObject({ status: 403 });
    expect(await send(invoke)).toMatchObject({ status: 405 });
    for (const method of ["DELETE", "PUT", "PATCH"]) {
      expect(
        await send(`${engine.addresses.http}/_console/x`, { method, headers: { origin: "http://evil.example" } }),
      ).toMatchObject({ status: 403 });
    }
    for (const method of ["OPTIONS", "TRACE", "PROPFIND", "REPORT"]) {
      const answer = await send(`${engine.addresses.http}/_console/x`, {
        method,
        headers: { origin: "http://evil.example" },
      });
      expect(answer.status).toBe(405);
      expect(answer.headers["access-control-allow-origin"]).toBeUndefined();
    }
  });

  it("cannot load the console's answers as a script, nor show them in a frame, nor read routes of the user without CORS (W7, W8, W10)", async () => {
    const { engine } = await start("workers: [{name: svc-http, config: {port: 0}}]\n");
    for (const path of ["/_console/x", "/_console/invoke", "/_console"]) {
      const { headers } = await send(`${engine.addresses.http}${path}`);
      expect(headers).toMatchObject({
        "x-content-type-options": "nosniff",
        "cross-origin-resource-policy": "same-origin",
        "x-frame-options": "DENY",
      });
      expect(headers["content-security-policy"]).toContain("frame-ancestors 'none'");
    }
    const { headers } = await send(`${engine.addresses.http}/anything`, { headers: { origin: "http://evil.example" } });
    expect(headers["access-control-allow-origin"]).toBeUndefined();
  });

  it("gets nothing from a console API that is switched off (gap 59)", async () => {
    const { engine } = await start("engine: {console_invoke: false}\n");
    const answer = await send(`${engine.addresses.http}/_console/invoke`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ function_id: "engine::info" }),
    });
    expect(answer).toMatchObject({ status: 404 });
  });
});

describe("connections (gap 58)", () => {
  it("are closed when their token is removed or their rules change, others are not, also if a listener moves in the same save", async () => {
    const http = (port: number): string => `workers: [{name: svc-http, config: {port: ${port}}}]\n`;
    const rules = (roles: string, tokens: string, port = 0): string =>
      `${http(port)}engine: {bridge: {rbac: {roles: {${roles}}, tokens: [${tokens}]}}}\n`;
    const token = (name: string): string => `{token: ${name}-token-that-is-long, role: ${name}}`;
    const [three, two] = [
      "kept: {}, removed: {}, changed: {}",
      "kept: {}, removed: {}, changed: {allowed_functions: [a]}",
    ];
    const { engine, dir, edit, logged } = await start(
      rules(three, ["kept", "removed", "changed"].map(token).join(", ")),
      { hasHttpPort: true },
    );
    const url = engine.addresses.bridge;
    const open = async (credential: string): Promise<WebSocket> => {
      const socket = await dial(url, bearer(credential));
      if (!(socket instanceof WebSocket)) throw new Error(`refused: ${socket.body}`);
      return socket;
    };
    const holder = await open(readFileSync(join(dir, ".svc", "token"), "utf8").trim());
    const [kept, removed, changed, anonymous] = [
      await open("kept-token-that-is-long"),
      await open("removed-token-that-is-long"),
      await open("changed-token-that-is-long"),
      (await dial(url)) as WebSocket,
    ];
    const closed = [removed, changed].map((socket) => once(socket, "close"));
    const moved = await freePort();
    edit(rules(two, ["kept", "changed"].map(token).join(", "), moved));
    await Promise.all(closed);
    expect(await logged("connections were closed, because the rules for them changed")).toMatchObject({
      fields: { connections: 2 },
    });
    expect(await dial(url, bearer("removed-token-that-is-long"))).toMatchObject({ status: 401 });
    expect(await dial(url, bearer("changed-token-that-is-long"))).toBeInstanceOf(WebSocket);
    expect([holder, kept, anonymous].map(({ readyState }) => readyState)).toEqual([
      WebSocket.OPEN,
      WebSocket.OPEN,
      WebSocket.OPEN,
    ]);
    expect(new URL(engine.addresses.http).port).toBe(String(moved));
    // Without rules there are no anonymous connections any more.
    const all = [kept, anonymous].map((socket) => once(socket, "close"));
    edit(http(moved));
    await Promise.all(all);
    expect(holder.readyState).toBe(WebSocket.OPEN);
  });

  it("are closed when their token is removed, also if an address in engine.bridges changes or a listener is added in the same save", async () => {
    const [running, other] = [await freePort(), await freePort()];
    const listener = (port: number, tokens: string): string =>
      `{port: ${port}, rbac: {roles: {tenant: {}}, tokens: [${tokens}]}}`;
    const config = (...listeners: string[]): string => `${empty}engine: {bridges: [${listeners.join(", ")}]}\n`;
    const tokens = (...names: string[]): string =>
      names.map((name) => `{token: ${name}-token-that-is-long, role: tenant}`).join(", ");
    const url = `ws://127.0.0.1:${running}`;
    const open = async (name: string): Promise<WebSocket> => {
      const socket = await dial(url, bearer(`${name}-token-that-is-long`));
      if (!(socket instanceof WebSocket)) throw new Error(`refused: ${socket.body}`);
      return socket;
    };
    const { dir, edit, logged } = await start(config(listener(running, tokens("kept", "second", "stolen"))));
    const engineToken = readFileSync(join(dir, ".svc", "token"), "utf8").trim();
    const [kept, second, stolen, holder] = [
      await open("kept"),
      await open("second"),
      await open("stolen"),
      (await dial(url, bearer(engineToken))) as WebSocket,
    ];

    const stolenClosed = once(stolen, "close");
    edit(config(listener(other, tokens("kept", "second"))));
    await stolenClosed;
    expect(await dial(url, bearer("stolen-token-that-is-long"))).toMatchObject({ status: 401 });

    const secondClosed = once(second, "close");
    edit(config(listener(other, tokens("second")), listener(running, tokens("kept"))));
    await secondClosed;
    expect(await dial(url, bearer("second-token-that-is-long"))).toMatchObject({ status: 401 });
    expect([kept, holder].map(({ readyState }) => readyState)).toEqual([WebSocket.OPEN, WebSocket.OPEN]);

    // The file no longer has the running listener.
    const allClosed = [kept, holder].map((socket) => once(socket, "close"));
    edit(config());
    await Promise.all(allClosed);
    expect(await logged("a listener was removed from engine.bridges")).toMatchObject({ fields: { port: running } });
    for (const token of ["kept-token-that-is-long", engineToken]) {
      for (const path of ["/", "/otel", "/ws/channels/x?key=y&dir=read"])
        expect(await dial(url + path, bearer(token))).toMatchObject({ status: 503 });
    }
    edit(config(listener(running, tokens("kept"))));
    await expect.poll(async () => (await dial(url, bearer("kept-token-that-is-long"))) instanceof WebSocket).toBe(true);
  });

  it("of a role that is removed leave no triggers behind: those without an owner are removed, with a line in the log", async () => {
    const role = (name: string, token: string): string =>
      `{roles: {${name}: {allowed_functions: ["engine::register_trigger", "guest::*"]}}, tokens: [${token}]}`;
    const config = (rbac: string): string => `${empty}engine: {bridge: {rbac: ${rbac}}}\n`;
    const site = await start(config(role("guest", "{token: a-guest-token-that-is-long, role: guest}")));
    const ask = async (credential: string, functionId: string, data: unknown): Promise<unknown> => {
      const socket = (await dial(site.engine.addresses.bridge, bearer(credential))) as WebSocket;
      const id = crypto.randomUUID();
      const answer = new Promise((resolve) => {
        socket.on("message", (text) => {
          const frame = JSON.parse(String(text)) as { readonly type: string; readonly invocation_id?: string };
          if (frame.type === "invocationresult" && frame.invocation_id === id) resolve(frame);
        });
      });
      socket.send(JSON.stringify({ type: "invokefunction", invocation_id: id, function_id: functionId, data }));
      const { result } = (await answer) as { readonly result: unknown };
      socket.close();
      return result;
    };
    const trigger = { trigger_type: "bell", function_id: "guest::ring", config: {} };
    const { id } = (await ask("a-guest-token-that-is-long", "engine::register_trigger", trigger)) as {
      readonly id: string;
    };
    const engineToken = readFileSync(join(site.dir, ".svc", "token"), "utf8").trim();
    const ids = async (): Promise<readonly string[]> => {
      const { registered_triggers: rows } = (await ask(engineToken, "engine::registered-triggers::list", {})) as {
        readonly registered_triggers: readonly { readonly id: string }[];
      };
      return rows.map((row) => row.id);
    };
    // Another token of the same role.
    site.edit(config(role("guest", "{token: another-guest-token-that-is-long, role: guest}")));
    await expect
      .poll(
        async () =>
          (await dial(site.engine.addresses.bridge, bearer("a-guest-token-that-is-long"))) instanceof WebSocket,
      )
      .toBe(false);
    expect(await ids()).toContain(id);
    // A change that fails removes nothing.
    const failed = site.logged("the config file could not be applied; the running configuration stays");
    const unreachable =
      'workers: [{name: svc-state, config: {adapter: {name: redis, config: {redis_url: "redis://127.0.0.1:1"}}}}]\n';
    site.edit(
      `${unreachable}${config(role("other", "{token: another-guest-token-that-is-long, role: other}")).slice(empty.length)}`,
    );
    await failed;
    expect(await ids()).toContain(id);
    const removed = site.logged("a trigger was removed");
    site.edit(config(role("other", "{token: another-guest-token-that-is-long, role: other}")));
    expect(await removed).toMatchObject({ fields: { id, role: "guest", functionId: "guest::ring" } });
    expect(await ids()).not.toContain(id);
  });

  it("that are restricted cannot take an id of a trusted worker before it is back after a restart (A4)", async () => {
    const config = `${empty}engine: {bridge: {rbac: {roles: {tenant: {allow_trigger_type_registration: true}}, tokens: [{token: a-tenant-token-that-is-long, role: tenant}]}}}\n`;
    const messages = [
      { type: "registerfunction", id: "payments::charge" },
      { type: "registertriggertype", id: "card", description: "cards" },
      { type: "ping" },
    ];
    const register = async (site: Site, credential: string): Promise<readonly string[]> => {
      const socket = (await dial(site.engine.addresses.bridge, bearer(credential))) as WebSocket;
      const errors: string[] = [];
      const done = new Promise<void>((resolve) => {
        socket.on("message", (data) => {
          const frame = JSON.parse(String(data)) as {
            readonly type: string;
            readonly error?: { readonly message: string };
          };
          if (frame.error !== undefined) errors.push(frame.error.message);
          if (frame.type === "pong") resolve();
        });
      });
      for (const message of messages) socket.send(JSON.stringify(message));
      await done;
      return errors;
    };
    const tokenOf = ({ dir }: Site): string => readFileSync(join(dir, ".svc", "token"), "utf8").trim();
    const first = await start(config);
    expect(await register(first, tokenOf(first))).toEqual([]);
    await first.engine.stop({ graceMs: 0 });
    const second = await start(config, { dir: first.dir });
    expect(await register(second, "a-tenant-token-that-is-long")).toEqual([
      expect.stringContaining("payments::charge belongs to a trusted worker that is away"),
      expect.stringContaining("the trigger type card belongs to a trusted worker that is away"),
    ]);
    expect(await register(second, tokenOf(second))).toEqual([]);
  });

  it("that are restricted cannot take the function of a stored job, nor ids below the prefix of a tenant that is away, after a restart", async () => {
    const access =
      "auth_function_id: auth::check, roles: {guest: {}}, tokens: [{token: a-guest-token-that-is-long, role: guest}]";
    const config = `workers: [{name: svc-queue}]\nengine: {bridge: {rbac: {${access}}}}\n`;
    const first = await start(config);
    const token = readFileSync(join(first.dir, ".svc", "token"), "utf8").trim();
    const url = first.engine.addresses.bridge;
    const owner = (await dial(url, bearer(token))) as WebSocket;
    const isEnqueued = new Promise<void>((resolve) => {
      owner.on("message", (data) => {
        const { type, invocation_id, function_id } = JSON.parse(String(data)) as Readonly<Record<string, string>>;
        const result = { function_registration_prefix: "acme" };
        if (type === "invokefunction")
          owner.send(JSON.stringify({ type: "invocationresult", invocation_id, function_id, result }));
        if (type === "invocationresult") resolve();
      });
    });
    owner.send(JSON.stringify({ type: "registerfunction", id: "auth::check" }));
    const job = { queue: "default", function_id: "orders::late", data: 1 };
    owner.send(
      JSON.stringify({ type: "invokefunction", invocation_id: randomUUID(), function_id: "queue::enqueue", data: job }),
    );
    await isEnqueued;
    expect(await dial(url)).toBeInstanceOf(WebSocket);
    await first.engine.stop({ graceMs: 0 });

    const second = await start(config, { dir: first.dir });
    const guest = (await dial(second.engine.addresses.bridge, bearer("a-guest-token-that-is-long"))) as WebSocket;
    const refusals = new Promise<readonly string[]>((resolve) => {
      const found: string[] = [];
      guest.on("message", (data) => {
        const { type, error } = JSON.parse(String(data)) as {
          readonly type: string;
          readonly error?: { readonly message: string };
        };
        if (error !== undefined) found.push(error.message);
        if (type === "pong") resolve(found);
      });
    });
    for (const id of ["orders::late", "acme::greet", "guest::own"])
      guest.send(JSON.stringify({ type: "registerfunction", id }));
    guest.send(JSON.stringify({ type: "ping" }));
    expect(await refusals).toEqual([
      expect.stringContaining("orders::late is called by a job or an alert of a trusted worker"),
      expect.stringContaining("acme::greet is reserved: ids that begin with acme:: belong to another"),
    ]);
  });

  it("whose ids cannot be saved, since the data folder was moved away, are reported as degraded health, and no folder is made in its place", async () => {
    const { engine, dir, edit, logged } = await start("workers: [{name: svc-observability}]\n");
    const data = join(dir, ".svc", "data");
    const token = readFileSync(join(dir, ".svc", "token"), "utf8").trim();
    const health = async (): Promise<string> => (await send(`${engine.addresses.http}/readyz`, bearer(token))).body;
    renameSync(data, `${data}-away`);
    const worker = (await dial(engine.addresses.bridge)) as WebSocket;
    worker.send(JSON.stringify({ type: "registerfunction", id: "payments::charge" }));
    await logged("the list of ids of trusted workers cannot be saved at present");
    expect(await health()).toContain("the list of ids of trusted workers cannot be saved at present");
    edit("workers: [{name: svc-observability}, {name: svc-event}]\n");
    expect(await logged("the config file could not be applied")).toMatchObject({
      fields: { problems: [`svc-event: the data folder ${data} is missing: move it back, or restart the engine`] },
    });
    expect(existsSync(data)).toBe(false);
    renameSync(`${data}-away`, data);
    await expect.poll(health).not.toContain("cannot be saved at present");
    expect(readFileSync(join(data, "trusted-ids.json"), "utf8")).toContain("function payments::charge");
  });

  it.each([
    ["are damaged", { "trusted-ids.json": "{", "http-reserved-routes.json": "{" }],
    [
      "have an entry that cannot be read",
      {
        "trusted-ids.json": '{"version":1,"entries":["function payments::charge","chosen function guest::work"]}',
        "http-reserved-routes.json": '{"version":1,"entries":["GET /pay","FETCH /pay"]}',
      },
    ],
  ])(
    "that are restricted get no ids and routes of trusted workers when the files of reserved ones %s",
    async (_how, files) => {
      const tokens = ["tenant", "prefixed"]
        .map((role) => `{token: a-${role}-token-that-is-long, role: ${role}}`)
        .join(", ");
      const roles =
        "tenant: {allow_trigger_type_registration: true}, prefixed: {function_registration_prefix: acme, http_path_prefix: /acme}";
      const config = `workers: [{name: svc-http}, {name: svc-observability}]\nengine: {bridge: {rbac: {roles: {${roles}}, tokens: [${tokens}]}}}\n`;
      const dir = folder();
      const data = join(dir, ".svc", "data");
      mkdirSync(data, { recursive: true });
      for (const [name, text] of Object.entries(files)) writeFileSync(join(data, name), text);
      const { engine, logged } = await start(config, { dir });
      const damaged = readdirSync(data).filter((name) => name.includes(".json.damaged-"));
      expect(damaged).toHaveLength(2);
      expect(await logged("the list of ids of trusted workers of an earlier run cannot be read")).toMatchObject({
        level: "error",
      });

      /** Messages of the refusals of the frames. */
      const refusals = async (credential: string, messages: readonly object[]): Promise<readonly string[]> => {
        const socket = (await dial(engine.addresses.bridge, bearer(credential))) as WebSocket;
        const errors: string[] = [];
        const done = new Promise<void>((resolve) => {
          socket.on("message", (frame) => {
            const { type, error } = JSON.parse(String(frame)) as {
              readonly type: string;
              readonly error?: { readonly message: string };
            };
            if (error !== undefined) errors.push(error.message);
            if (type === "pong") resolve();
          });
        });
        for (const message of [...messages, { type: "ping" }]) socket.send(JSON.stringify(message));
        await done;
        return errors;
      };
      const route = (path: string, id: string) => ({
        type: "registertrigger",
        id: "t",
        trigger_type: "http",
        function_id: id,
        config: { api_path: path },
      });
      const own = { type: "registerfunction", id: "charge" };
      const tenant = [own, { type: "registertriggertype", id: "card", description: "" }];
      const unknown = (file: string) => expect.stringContaining(`${join(data, file)}.damaged-`);
      expect(await refusals("a-tenant-token-that-is-long", tenant)).toEqual([
        unknown("trusted-ids.json"),
        unknown("trusted-ids.json"),
      ]);
      expect(await refusals("a-prefixed-token-that-is-long", [own, route("/acme/pay", "charge")])).toEqual([]);
      const trusted = readFileSync(join(dir, ".svc", "token"), "utf8").trim();
      expect(
        await refusals(trusted, [
          { type: "registerfunction", id: "payments::charge" },
          route("/pay", "payments::charge"),
        ]),
      ).toEqual([]);

      const health = await send(`${engine.addresses.http}/readyz`, { headers: { authorization: `Bearer ${trusted}` } });
      expect(JSON.parse(health.body)).toMatchObject({
        components: expect.arrayContaining([
          expect.objectContaining({
            component: "access",
            status: "degraded",
            details: expect.stringContaining(damaged[0] ?? ""),
          }),
        ]),
      });
    },
  );

  it("have a limit for each address on every listener, and room again when one goes (W11)", async () => {
    const { engine } = await start("engine: {max_connections_per_address: 3}\n");
    for (const url of [engine.addresses.bridge, engine.addresses.realtime, engine.addresses.http]) {
      const port = Number(new URL(url).port);
      const open = (): Promise<"open" | "closed"> =>
        new Promise((resolve) => {
          const socket = connectTcp(port, "127.0.0.1");
          undo.push(() => socket.destroy());
          socket.on("error", () => resolve("closed"));
          socket.once("close", () => resolve("closed"));
          // Within the limit the listener responds to requests that are not HTTP; above it, it does not respond.
          socket.once("connect", () => socket.write("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"));
          socket.once("data", () => resolve("open"));
        });
      expect([await open(), await open(), await open()]).toEqual(["open", "open", "open"]);
      const held = await Promise.all([open(), open(), open(), open(), open()]);
      // Connections of the first round with a response may be closed by now, so some find room, but never more than
      // three at a time.
      expect(held.filter((state) => state === "open").length).toBeLessThanOrEqual(3);
    }
  });

  it("without a whole request within 10 s are closed, so that nobody can hold them open for nothing (W11)", async () => {
    const { engine } = await start(empty);
    const ends = [engine.addresses.bridge, engine.addresses.realtime, engine.addresses.http].flatMap((url) =>
      ["", "GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"].map(async (head) => {
        const socket = connectTcp(Number(new URL(url).port), "127.0.0.1");
        undo.push(() => socket.destroy());
        socket.resume();
        socket.write(head);
        const started = performance.now();
        await once(socket, "close");
        return performance.now() - started;
      }),
    );
    for (const elapsed of await Promise.all(ends)) expect(elapsed).toBeGreaterThan(9_000);
  });
});

describe("what a role left behind", () => {
  async function workerOf({ engine }: Site, credential: string) {
    const socket = (await dial(engine.addresses.bridge, bearer(credential))) as WebSocket;
    const waiting = new Map<string, (frame: Record<string, unknown>) => void>();
    const delivered: unknown[] = [];
    socket.on("message", (text) => {
      const frame = JSON.parse(String(text)) as Record<string, unknown>;
      if (frame.type === "invocationresult") waiting.get(String(frame.invocation_id))?.(frame);
      if (frame.type === "invokefunction") delivered.push(frame.data);
    });
    const say = (frame: unknown): void => socket.send(JSON.stringify(frame));
    const call = (functionId: string, data: unknown): Promise<Record<string, unknown>> => {
      const id = crypto.randomUUID();
      const answer = new Promise<Record<string, unknown>>((resolve) => waiting.set(id, resolve));
      say({ type: "invokefunction", invocation_id: id, function_id: functionId, data });
      return answer;
    };
    return { socket, delivered, call, say };
  }
  const trustedToken = ({ dir }: Site): string => readFileSync(join(dir, ".svc", "token"), "utf8").trim();

  it("a trigger made by engine::register_trigger is removed when its role has fewer rights, with a line in the log", async () => {
    const config = (allowed: string, token = "a-guest-token-that-is-long"): string =>
      `workers: [{name: svc-state, config: {adapter: {name: in_memory}}}]\nengine: {bridge: {rbac: {roles: {guest: {allowed_functions: ${allowed}}}, tokens: [{token: ${token}, role: guest}]}}}\n`;
    const rights = '["engine::register_trigger", "state::get"]';
    const site = await start(config(rights));
    const owner = await workerOf(site, trustedToken(site));
    const guest = await workerOf(site, "a-guest-token-that-is-long");
    const spy = { type: "registerfunction", id: "guest::spy" };
    const trigger = { trigger_type: "state", function_id: "guest::spy", config: {} };
    guest.say(spy);
    const made = await guest.call("engine::register_trigger", trigger);
    expect(made).toMatchObject({ result: { id: expect.any(String) } });
    await owner.call("state::set", { scope: "s", key: "before", value: "one" });
    await expect.poll(() => guest.delivered.length).toBe(1);
    const closed = once(guest.socket, "close");
    const removed = site.logged(
      "a trigger was removed, because the rules for the role that made it changed in the config",
    );
    site.edit(config("[]"));
    await closed;
    expect(await removed).toMatchObject({ fields: { id: (made.result as { readonly id: string }).id, role: "guest" } });
    const again = await workerOf(site, "a-guest-token-that-is-long");
    again.say(spy);
    expect(await again.call("engine::register_trigger", trigger)).toMatchObject({ error: { code: "FORBIDDEN" } });
    const list = await owner.call("engine::registered-triggers::list", {});
    expect(JSON.stringify(list.result)).not.toContain("guest::spy");
  });

  it("an alert made by a role is removed with the role, also if that happened while the engine was off", async () => {
    const config = (...roles: string[]): string =>
      `workers: [{name: svc-observability, config: {}}]\nengine: {bridge: {rbac: {expose_functions: ['match("api::*")'], roles: {${roles.map((role) => `${role}: {allowed_functions: ["engine::alerts::create"]}`).join(", ")}}, tokens: [${roles.map((role) => `{token: a-${role}-token-that-is-long, role: ${role}}`).join(", ")}]}}}\n`;
    const site = await start(config("guest", "second"));
    const owner = await workerOf(site, trustedToken(site));
    owner.say({ type: "registerfunction", id: "api::notify" });
    await owner.call("engine::info", {});
    const action = { type: "function", path: "api::notify" };
    const alert = {
      metric: "svc.workers",
      threshold: 1_000,
      operator: ">=",
      window_seconds: 60,
      cooldown_seconds: 0,
      action,
    };
    for (const role of ["guest", "second"]) {
      const worker = await workerOf(site, `a-${role}-token-that-is-long`);
      expect(await worker.call("engine::alerts::create", { ...alert, name: role })).toMatchObject({
        result: { name: role },
      });
    }
    const names = async (from: typeof owner): Promise<readonly string[]> => {
      const { result } = (await from.call("engine::alerts::list", {})) as {
        readonly result: { readonly alerts: readonly { readonly name: string }[] };
      };
      return result.alerts.map(({ name }) => name);
    };
    const text =
      "an alert was removed, because the role that made it, or every token of it, was removed from the config";
    const removed = site.logged(text);
    site.edit(config("second"));
    expect(await removed).toMatchObject({ fields: { alert: "guest", role: "guest" } });
    expect(await names(owner)).toEqual(["second"]);
    await site.engine.stop({ graceMs: 0 });
    const next = await start(config("other"), { dir: site.dir });
    expect(await next.logged(text)).toMatchObject({ fields: { alert: "second", role: "second" } });
    expect(await names(await workerOf(next, trustedToken(next)))).toEqual([]);
  }, 30_000);
});
