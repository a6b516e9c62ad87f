import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "@svc-runtime/protocol/testing";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { systemClock } from "../../kernel/clock.ts";
import { createLogger, type Logger, type LogRecord, silentLogger } from "../../kernel/logger.ts";
import { selfSigned } from "../../outbound-http/testing/self-signed.ts";
import type { ItemStore } from "../item-store.ts";
import { type RedisServer, redisCli, startRedisServer } from "../testing/redis-server.ts";
import { newValue, newWrite, noticeFor, wholeScope, written } from "../testing/suite/harness.ts";
import { openRedisItems } from "./redis.ts";

const dataDir = mkdtempSync(join(tmpdir(), "svc-redis-failures-"));
const cleanUps: (() => Promise<void>)[] = [];
const patience = { timeout: 20_000, interval: 20 };

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});
afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

async function serverWith(...options: readonly string[]): Promise<RedisServer> {
  const server = await startRedisServer(options);
  cleanUps.push(() => server.stop());
  return server;
}

async function open(
  url: string,
  options: { readonly log?: Logger; readonly requestTimeoutMs?: number; readonly dataDir?: string } = {},
): Promise<ItemStore> {
  const store = await openRedisItems({
    url,
    keyPrefix: "test:",
    dataDir,
    log: silentLogger,
    clock: systemClock,
    ...options,
  });
  cleanUps.push(() => store.close());
  return store;
}

function collectingLogger(): { readonly log: Logger; readonly records: LogRecord[] } {
  const records: LogRecord[] = [];
  return { records, log: createLogger({ level: "debug", now: () => 0, write: (record) => records.push(record) }) };
}

describe("the redis adapter at its start", () => {
  it("refuses to start without a server, names the address and what to do, and shows no password", async () => {
    const server = await serverWith();
    await server.kill();
    const message = await open(`redis://user:secret@127.0.0.1:${server.port}/2`).then(String, String);
    expect(message).toContain(`cannot use Redis at redis://127.0.0.1:${server.port}/2`);
    expect(message).toContain("ECONNREFUSED");
    expect(message).toContain("start the server, or change redis_url");
    expect(message).not.toMatch(/secret|user/);
  });

  it("gives up on a server that does not answer", async () => {
    const server = await serverWith();
    server.process.kill("SIGSTOP");
    const message = await openRedisItems({
      url: server.url,
      keyPrefix: "",
      dataDir,
      log: silentLogger,
      clock: systemClock,
      connectTimeoutMs: 300,
    }).then(String, String);
    expect(message).toContain(`cannot use Redis at ${server.url}`);
  });

  it("says that a password is wrong or missing, and logs none", async () => {
    const server = await serverWith("--requirepass", "right-password");
    for (const url of [server.url, `redis://:wrong-password@127.0.0.1:${server.port}`]) {
      const message = await open(url).then(String, String);
      expect(message).toContain("add the user and password to redis_url");
      expect(message).not.toContain("wrong-password");
    }
    const { log, records } = collectingLogger();
    const store = await open(`redis://:right-password@127.0.0.1:${server.port}`, { log });
    await store.set("s", "k", newValue("1"), newWrite());
    await server.restart();
    await vi.waitFor(() => expect(store.problem()).toBeDefined(), patience);
    await vi.waitFor(() => expect(store.problem()).toBeUndefined(), patience);
    expect(records.length).toBeGreaterThan(0);
    expect(JSON.stringify(records)).not.toContain("right-password");
  });

  it("speaks TLS and trusts no certificate that the machine does not", async () => {
    const key = join(dataDir, "key.pem");
    const cert = join(dataDir, "cert.pem");
    const pair = selfSigned("localhost");
    writeFileSync(key, pair.key);
    writeFileSync(cert, pair.cert);
    const port = await freePort();
    await serverWith(
      "--tls-port",
      String(port),
      "--tls-cert-file",
      cert,
      "--tls-key-file",
      key,
      "--tls-ca-cert-file",
      cert,
      "--tls-auth-clients",
      "no",
    );
    const message = await open(`rediss://127.0.0.1:${port}`).then(String, String);
    expect(message).toContain(`cannot use Redis at rediss://127.0.0.1:${port}: self-signed certificate`);
    expect(message).toContain("NODE_EXTRA_CA_CERTS");
  });
});

describe("the redis adapter's durability", () => {
  it.each([
    [["--appendfsync", "always"], "durable", undefined],
    [["--appendfsync", "everysec"], "relaxed", "this Redis may lose the last second of writes in a power cut"],
    [["--appendonly", "no"], "memory", "this Redis keeps writes in memory only; they are lost when the server stops"],
    [
      ["--rename-command", "CONFIG", "", "--appendfsync", "always"],
      "memory",
      "the durability of this Redis is unknown; writes are reported as kept in memory only",
    ],
  ] as const)("of a server with %j is %s", async (options, durability, warning) => {
    const server = await serverWith(...options);
    const { log, records } = collectingLogger();
    const store = await open(server.url, { log });
    expect(store.durability).toBe(durability);
    expect(records.find((record) => record.level === "warn")?.message).toBe(warning);
  });

  it("warns of a server that drops items when its memory is full", async () => {
    const server = await serverWith("--appendfsync", "always", "--maxmemory-policy", "allkeys-lru");
    const { log, records } = collectingLogger();
    await open(server.url, { log });
    expect(records.map((record) => record.message)).toContain("this Redis evicts items when its memory is full");
  });

  it("keeps every acknowledged write through the death of the server, and its deliveries (S-1)", async () => {
    const server = await serverWith("--appendfsync", "always");
    const store = await open(server.url);
    const acknowledged = new Map<string, number>();
    const outcomes: unknown[] = [];
    async function writer(key: string): Promise<void> {
      for (let round = 1; ; round++) {
        const one = written(
          await store.set("s", key, newValue(JSON.stringify({ round })), newWrite({ notice: noticeFor(["w"]) })),
        );
        acknowledged.set(key, one.item?.version ?? 0);
        if (key === "k0" && round === 20) await server.kill();
      }
    }
    await Promise.all(
      Array.from({ length: 8 }, (_, index) => writer(`k${index}`).catch((error: unknown) => outcomes.push(error))),
    );
    for (const error of outcomes) expect(error).toMatchObject({ code: "storage_failed" });
    await server.restart();
    await vi.waitFor(() => expect(store.problem()).toBeUndefined(), patience);
    const pending = await store.outbox.pending({ watcher: "w", after: 0, limit: 100_000, maxBytes: 100_000_000 });
    for (const [key, version] of acknowledged) {
      const item = await store.get("s", key);
      expect(item?.version).toBeGreaterThanOrEqual(version);
      expect(item?.version).toBeLessThanOrEqual(version + 1);
      const delivered = pending.filter(({ change }) => change.key === key).map(({ change }) => change.version);
      expect(delivered).toEqual(Array.from({ length: item?.version ?? 0 }, (_, index) => index + 1));
    }
  });
});

describe("the redis adapter without its server", () => {
  it("fails at once with a reason, and reconnects by itself", async () => {
    const server = await serverWith();
    const { log, records } = collectingLogger();
    const store = await open(server.url, { log });
    await store.set("s", "k", newValue("1"), newWrite());
    await server.kill();
    await vi.waitFor(() => expect(store.problem()).toBeDefined(), patience);
    expect(store.problem()).toContain(`not connected to Redis at ${server.url}`);
    await expect(store.get("s", "k")).rejects.toMatchObject({
      code: "storage_failed",
      details: { outcome: "not_written" },
    });
    await expect(store.set("s", "k", newValue("2"), newWrite())).rejects.toMatchObject({
      code: "storage_failed",
      details: { outcome: "not_written" },
    });
    await server.restart();
    await vi.waitFor(() => expect(store.problem()).toBeUndefined(), patience);
    expect(await store.get("s", "k")).toMatchObject({ json: "1", version: 1 });
    expect(written(await store.set("s", "k", newValue("2"), newWrite())).item).toMatchObject({ version: 2 });
    expect(records.map((record) => record.message)).toEqual(
      expect.arrayContaining(["connection to Redis lost; reconnecting", "reconnected to Redis"]),
    );
  });

  it("says of a write that was under way that it may have been done, and later reads agree on one", async () => {
    const server = await serverWith();
    const store = await open(server.url);
    server.process.kill("SIGSTOP");
    const writes = ["1", "2", "3"].map((json) => store.set("s", "k", newValue(json), newWrite()));
    const update = store.update(
      "s",
      "n",
      { ops: [{ type: "increment", path: "", by: 1 }], atomic: true, maxBytes: 100, expiresAt: "keep" },
      newWrite(),
    );
    const settled = Promise.allSettled([...writes, update]);
    await server.kill();
    for (const outcome of await settled) {
      expect(outcome).toMatchObject({
        status: "rejected",
        reason: { code: "storage_failed", details: { outcome: "unknown" } },
      });
    }
  });

  it("fails requests to a hanging server at their deadline, and reconnects", async () => {
    const server = await serverWith();
    const store = await open(server.url, { requestTimeoutMs: 300 });
    server.process.kill("SIGSTOP");
    const write = store.set("s", "k", newValue("1"), newWrite());
    await expect(write).rejects.toMatchObject({ code: "call_timeout", details: { timeout_ms: 300 } });
    expect(store.problem()).toContain("no reply within 300 ms");
    server.process.kill("SIGCONT");
    await vi.waitFor(() => expect(store.problem()).toBeUndefined(), patience);
    const first = await store.get("s", "k");
    for (let round = 0; round < 20; round++) expect(await store.get("s", "k")).toEqual(first);
  });

  it("says so when the server's memory is full, and notices when it is not any more", async () => {
    const server = await serverWith();
    const store = await open(server.url);
    const admin = await open(server.url);
    await store.set("s", "k", newValue("1"), newWrite());
    await configure(server, "maxmemory", "1");
    await expect(store.set("s", "k", newValue("2"), newWrite())).rejects.toMatchObject({
      code: "storage_failed",
      details: { outcome: "not_written" },
    });
    expect(store.problem()).toMatch(/rejects writes: OOM/);
    expect(await store.get("s", "k")).toMatchObject({ json: "1" });
    expect(admin.problem()).toBeUndefined();
    await configure(server, "maxmemory", "0");
    await vi.waitFor(() => expect(store.problem()).toBeUndefined(), patience);
    expect(written(await store.set("s", "k", newValue("2"), newWrite())).item).toMatchObject({ version: 2 });
  });

  it("deletes when the server's memory is full, wholly", async () => {
    const server = await serverWith();
    const store = await open(server.url);
    const write = newWrite({ notice: noticeFor(["w"]) });
    await store.set("s", "k", newValue("1", Date.now() + 60_000), write);
    await configure(server, "maxmemory", "1");
    expect(written(await store.delete("s", "k", write)).changes).toMatchObject([
      { kind: "deleted", version: 2, seq: 2 },
    ]);
    await configure(server, "maxmemory", "0");
    expect(await store.get("s", "k")).toBeUndefined();
    expect(await store.page("s", wholeScope)).toMatchObject({ items: [], total: 0 });
    expect(await store.nextExpiry()).toBeUndefined();
    expect(await store.outbox.watchers()).toEqual([{ watcher: "w", waiting: 2 }]);
    expect(written(await store.set("s", "k", newValue("1"), write)).item).toMatchObject({ version: 3 });
  });

  it("continues when the server's script cache is flushed", async () => {
    const server = await serverWith();
    const store = await open(server.url);
    await redisCli(server, "SCRIPT", "FLUSH");
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, index) => store.set("s", "k", newValue(String(index)), newWrite())),
    );
    expect(outcomes.map((outcome) => written(outcome).item?.version)).toEqual(
      Array.from({ length: 20 }, (_, index) => index + 1),
    );
  });

  it("rejects more than ten thousand pending requests", async () => {
    const server = await serverWith();
    const store = await open(server.url);
    server.process.kill("SIGSTOP");
    const reads = Array.from({ length: 10_001 }, () => store.get("s", "k").then(() => "answered"));
    await expect(reads[10_000]).rejects.toMatchObject({ code: "overloaded" });
    server.process.kill("SIGCONT");
    expect(new Set(await Promise.all(reads.slice(0, 10_000)))).toEqual(new Set(["answered"]));
  });
});

describe("two engines with one redis", () => {
  it("count 4,000 contended increments of four workers to exactly 4,000 (S-2)", async () => {
    const server = await serverWith();
    const stores = [await open(server.url), await open(server.url)];
    async function worker(store: ItemStore): Promise<void> {
      for (let round = 0; round < 1_000; round++) {
        await store.update(
          "s",
          "n",
          { ops: [{ type: "increment", path: "", by: 1 }], atomic: true, maxBytes: 100, expiresAt: "keep" },
          newWrite(),
        );
      }
    }
    await Promise.all([...stores, ...stores].map(worker));
    for (const store of stores) expect(await store.get("s", "n")).toMatchObject({ json: "4000", version: 4_000 });
  }, 60_000);

  it("share items, and each keeps the deliveries of its own writes", async () => {
    const server = await serverWith();
    for (const folder of ["here", "there"]) mkdirSync(join(dataDir, folder));
    const here = await open(server.url, { dataDir: join(dataDir, "here") });
    const there = await open(server.url, { dataDir: join(dataDir, "there") });
    await here.set("s", "k", newValue("1"), newWrite({ notice: noticeFor(["w"]) }));
    expect(await there.get("s", "k")).toMatchObject({ json: "1" });
    expect(await there.outbox.watchers()).toEqual([]);
    await here.close();
    const again = await open(server.url, { dataDir: join(dataDir, "here") });
    expect(await again.outbox.watchers()).toEqual([{ watcher: "w", waiting: 1 }]);
  });
});

describe("the redis adapter's scopes", () => {
  it("go on counting versions when more were emptied than are remembered", async () => {
    const server = await serverWith();
    const store = await open(server.url);
    await store.set("first", "k", newValue("1"), newWrite());
    await store.delete("first", "k", newWrite());
    for (let index = 0; index < 10_500; index += 500) {
      const scopes = Array.from({ length: 500 }, (_, offset) => `scope-${index + offset}`);
      await Promise.all(scopes.map((scope) => store.set(scope, "k", newValue("1"), newWrite())));
      await Promise.all(scopes.map((scope) => store.delete(scope, "k", newWrite())));
    }
    expect(written(await store.set("first", "k", newValue("1"), newWrite())).item).toMatchObject({ version: 3 });
    expect(await redisCli(server, "HLEN", "test:floors")).toMatch(/^\d{1,4}\n$/);
  });

  it("leave nothing behind when they are emptied but what their versions need", async () => {
    const server = await serverWith();
    const store = await open(server.url);
    const write = newWrite({ notice: noticeFor(["w"]) });
    await store.set("s", "k", newValue("1", Date.now() + 60_000), write);
    await store.delete("s", "k", write);
    await store.outbox.acknowledge(await store.outbox.pending({ watcher: "w", after: 0, limit: 10, maxBytes: 1_000 }));
    const keys = (await redisCli(server, "KEYS", "*")).trim().split("\n").sort();
    expect(keys).toEqual(["test:empty", "test:floors", "test:seq"]);
  });
});

function configure(server: RedisServer, name: string, value: string): Promise<string> {
  return redisCli(server, "CONFIG", "SET", name, value);
}
