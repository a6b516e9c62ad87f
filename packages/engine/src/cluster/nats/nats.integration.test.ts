import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { jetstream } from "@nats-io/jetstream";
import { freePort } from "@svc-runtime/protocol/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { NatsSettings } from "../../config/blocks/cluster-block.ts";
import type { ComponentHealth } from "../../kernel/health-contract.ts";
import { type Logger, silentLogger } from "../../kernel/logger.ts";
import { linkSuite } from "../../kernel/nodes/testing/link-suite.ts";
import type { Store } from "../../kernel/store-contract.ts";
import { type LogEntry, LogUnavailable } from "../../store/log.ts";
import type { LedgerProcedures } from "../../store/testing/ledger-procedures.ts";
import { logSuite } from "../../store/testing/log-suite.ts";
import { seedsSuite } from "../../store/testing/seeds-suite.ts";
import { certificateFile } from "../../testing/certificates.ts";
import { inMemoryEngine } from "../../testing/in-memory-engine.ts";
import { manualClock } from "../../testing/manual-clock.ts";
import { Cluster, type ClusterReport } from "../cluster.ts";
import { checkServer, durabilityOf } from "./check-server.ts";
import { connectNats, type NatsClient } from "./connect.ts";
import { natsLink } from "./nats-link.ts";
import { NatsLog } from "./nats-log.ts";
import { NatsSeeds } from "./nats-seeds.ts";
import { newNkey } from "./nkey.ts";
import { serverConfig, serverConfigs } from "./server-config.ts";
import { type NatsServer, type NatsServers, startNatsServer, startNatsServers } from "./testing/nats-servers.ts";

const CLUSTER = "test";
const ledger = new URL("../../store/testing/ledger-procedures.js", import.meta.url);
let servers: NatsServers;
const clients: NatsClient[] = [];
let count = 0;
let seedCount = 0;

async function client(at = 0): Promise<NatsClient> {
  const { urls } = servers;
  const opened = await connectNats({
    settings: { servers: [...urls.slice(at), ...urls.slice(0, at)], replicas: 3 },
    ...{ cluster: CLUSTER, node: `node${at}`, logger: silentLogger },
  });
  clients.push(opened);
  return opened;
}

const openLog = (client: NatsClient, store: string): Promise<NatsLog> =>
  NatsLog.open({ client, cluster: CLUSTER, store, replicas: 3, logger: silentLogger });

const openSeeds = (client: NatsClient, store: string): Promise<NatsSeeds> =>
  NatsSeeds.open({ client, cluster: CLUSTER, store, replicas: 3, logger: silentLogger });

beforeAll(async () => {
  servers = await startNatsServers(CLUSTER, 3, {
    stores: Array.from({ length: 20 }, (_, at) => [`log${at}`, `kept${at}`]).flat(),
  });
  for (const at of [0, 1, 2]) await client(at);
});
afterAll(async () => {
  for (const each of clients) if (!each.nats.isClosed()) await each.close();
  await servers.stop();
});

logSuite("NATS", async () => {
  const store = `log${count++}`;
  const [one, other] = await Promise.all([
    openLog(clients[0] as NatsClient, store),
    openLog(clients[1] as NatsClient, store),
  ]);
  return { one, other };
});

seedsSuite("NATS", async () => {
  const store = `kept${seedCount++}`;
  return {
    one: await openSeeds(clients[0] as NatsClient, store),
    other: await openSeeds(clients[1] as NatsClient, store),
  };
});

describe("snapshots on NATS", () => {
  const folder = mkdtempSync(join(tmpdir(), "svc-nats-seeds-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const partsOf = async (store: string): Promise<readonly string[]> => {
    const filter = { subjects_filter: `svc.${CLUSTER}.snapshots.${store}.parts.>` };
    const { nats } = clients[0] as NatsClient;
    const info = await nats.request(`$JS.API.STREAM.INFO.svc_${CLUSTER}_${store}_snapshots`, JSON.stringify(filter));
    return Object.keys(info.json<{ state: { subjects?: Record<string, number> } }>().state.subjects ?? {});
  };

  it("are refused if a part was changed, and leave no parts when they are not completed or not kept", async () => {
    const store = `kept${seedCount++}`;
    const seeds = await openSeeds(clients[0] as NatsClient, store);
    const file = join(folder, "file");
    writeFileSync(file, Buffer.alloc(1_200_000, 1));
    const put = async (position: number): Promise<void> => {
      const claim = await seeds.claim("run", () => true);
      await claim?.put({ identity: "log", position, node: "a", logBytes: 0 }, file);
      await claim?.release();
    };
    await put(1);
    const publisher = jetstream((clients[0] as NatsClient).nats);
    const [first = ""] = await partsOf(store);
    await publisher.publish(first, Buffer.alloc(512 * 1024, 2));
    const [kept] = await seeds.list("log");
    if (kept === undefined) throw new Error("no snapshot is kept");
    const copy = join(folder, "copy");
    await expect(seeds.copy(kept, copy)).rejects.toThrow("the snapshot of entry 1 is damaged");
    expect(existsSync(copy)).toBe(false);

    await openLog(clients[0] as NatsClient, store);
    expect(await seeds.cutProblem("log")).toBeUndefined();
    const { nats } = clients[0] as NatsClient;
    const stream = `svc_${CLUSTER}_${store}_snapshots`;
    const { config } = (await nats.request(`$JS.API.STREAM.INFO.${stream}`)).json<{ readonly config: object }>();
    for (const copies of [1, 3]) {
      const changed = JSON.stringify({ ...config, num_replicas: copies });
      await nats.request(`$JS.API.STREAM.UPDATE.${stream}`, changed);
      const problem = copies === 1 ? "1 NATS servers keep the snapshots, and 3 the log" : undefined;
      expect(await seeds.cutProblem("log")).toBe(problem);
    }
    await nats.request(`$JS.API.STREAM.PURGE.${stream}`, JSON.stringify({ filter: first }));
    expect(await seeds.cutProblem("log")).toBe("parts of the snapshot of entry 1 are missing");

    // As a process leaves it that died during a snapshot.
    await publisher.publish(`svc.${CLUSTER}.snapshots.${store}.parts.dead.0`, "x");
    for (const position of [2, 3]) await put(position);
    const aborted = await seeds.claim("run", () => true);
    const signal = AbortSignal.abort();
    await expect(
      aborted?.put({ identity: "log", position: 4, node: "a", logBytes: 0 }, file, signal),
    ).rejects.toThrow();
    await aborted?.release();
    const ids = new Set((await partsOf(store)).map((subject) => subject.split(".")[5]));
    expect(ids).toEqual(new Set((await seeds.list("log")).map(({ id }) => id)));
    expect((await seeds.list("log")).map(({ position }) => position)).toEqual([3, 2]);
  });

  it("are taken by engines when their log has grown, and an engine begins with one when the log was cut", async () => {
    const store = `kept${seedCount++}`;
    const connectTo = (node: string): Promise<Cluster> =>
      Cluster.connect({
        settings: { name: CLUSTER, node, snapshotAfter: 65_536, nats: { servers: servers.urls, replicas: 3 } },
        ...{ dataDir: join(folder, node), logger, onStoreEnded: () => {} },
      });
    const engines: Cluster[] = [];
    const reports: (ClusterReport | undefined)[] = [];
    const logger: Logger = {
      ...silentLogger,
      info: (message) => {
        if (message === "a replica is made from a snapshot") reports.push(engines.at(-1)?.report());
      },
    };
    const open = async (node: string): Promise<Store<LedgerProcedures>> => {
      mkdirSync(join(folder, node), { recursive: true });
      const engine = await connectTo(node);
      engines.push(engine);
      return engine.openStoreOf(node)<LedgerProcedures>({
        ...{ file: join(folder, node, "ledger.db"), procedures: ledger, shared: store },
      });
    };
    const stores = [await open("a"), await open("b")];
    const log = await openLog(clients[0] as NatsClient, store);
    let lines = 0;
    await expect
      .poll(
        async () => {
          for (const each of stores) await each.call("add", `${lines++} ${"x".repeat(30_000)}`);
          return (await log.state()).first;
        },
        { timeout: 30_000, interval: 200 },
      )
      .toBeGreaterThan(1);
    expect(reports).toEqual([]);
    const draft = join(folder, "c", `.ledger.db.snapshot.${randomUUID()}.tmp`);
    mkdirSync(join(folder, "c"));
    for (const left of [draft, `${draft}-journal`]) writeFileSync(left, "of a process that was killed");
    stores.push(await open("c"));
    expect(readdirSync(join(folder, "c")).filter((name) => name.endsWith(".tmp") || name.endsWith("-journal"))).toEqual(
      [],
    );
    const problem = expect.stringMatching(/takes the snapshot of entry \d+: 0.0 of \d+.\d MB/);
    expect(reports).toMatchObject([{ stores: [{ store, position: 0, problem }] }]);
    const texts = await Promise.all(stores.map((each) => each.call("texts", null)));
    expect(texts.map(({ length }) => length)).toEqual([lines, lines, lines]);
    expect(new Set(texts.map((each) => each.join())).size).toBe(1);
    await Promise.all(stores.map((each) => each.close()));
    await Promise.all(engines.map((engine) => engine.stop()));
  }, 60_000);
});

linkSuite("NATS", async () => {
  const [a, b, c] = clients as [NatsClient, NatsClient, NatsClient];
  return [natsLink(a, CLUSTER), natsLink(b, CLUSTER), natsLink(c, CLUSTER)];
});

describe("the log of NATS", () => {
  it("keeps each entry once and in order when the server that leads it is killed under load", async () => {
    const [one, other] = [
      await openLog(clients[0] as NatsClient, "log19"),
      await openLog(clients[1] as NatsClient, "log19"),
    ];
    const seen: LogEntry[] = [];
    const failures: Error[] = [];
    const follow = other.follow(
      1,
      (entry) => seen.push(entry),
      (error) => failures.push(error),
    );
    const append = async (id: string): Promise<void> => {
      for (;;) {
        try {
          await one.append(id, Buffer.from(id));
          return;
        } catch (error) {
          expect(error).toBeInstanceOf(LogUnavailable);
        }
      }
    };
    const ids: string[] = [];
    let isOver = false;
    const load = (async () => {
      while (!isOver) {
        const batch = Array.from({ length: 8 }, (_, at) => `id${ids.length + at}`);
        await Promise.all(batch.map(append));
        ids.push(...batch);
      }
    })();
    await expect.poll(() => ids.length).toBeGreaterThan(50);
    const info = await (clients[0] as NatsClient).nats.request(`$JS.API.STREAM.INFO.svc_${CLUSTER}_log19`);
    const { leader } = info.json<{ readonly cluster: { readonly leader: string } }>().cluster;
    const server = servers.servers[Number(leader.slice(1)) - 1];
    await server?.kill();
    const before = ids.length;
    await expect.poll(() => ids.length).toBeGreaterThan(before + 50);
    await server?.restart();
    isOver = true;
    await load;
    await expect.poll(() => new Set(seen.map(({ id }) => id)).size).toBe(ids.length);
    follow.stop();
    expect(failures).toEqual([]);
    expect(seen.map(({ position }) => position)).toEqual(seen.map((_, at) => at + 1));
    for (const { id, bytes } of seen) expect(Buffer.from(bytes).toString()).toBe(id);
  }, 60_000);
});

it("a log that another one replaced cannot be cut", async () => {
  const folder = mkdtempSync(join(tmpdir(), "svc-nats-replaced-"));
  const port = await freePort();
  // Engines may not delete a stream.
  const config = `listen: "127.0.0.1:${port}"\njetstream { store_dir: "${folder}" }\n`;
  const server = await startNatsServer({ folder, name: "plain", port, config });
  try {
    const opened = await connectNats({
      settings: { servers: [server.url], replicas: 1 },
      ...{ cluster: CLUSTER, node: "a", logger: silentLogger },
    });
    clients.push(opened);
    const open = (): Promise<NatsLog> =>
      NatsLog.open({ client: opened, cluster: CLUSTER, store: "log", replicas: 1, logger: silentLogger });
    const former = await open();
    await former.append("a", Buffer.from("A"));
    await opened.nats.request(`$JS.API.STREAM.DELETE.svc_${CLUSTER}_log`);
    const log = await open();
    for (const id of ["b", "c"]) await log.append(id, Buffer.from(id));
    await expect(former.truncate(2)).rejects.toThrow("the log is another one than before");
    expect(await log.state()).toMatchObject({ first: 1, last: 2 });
  } finally {
    await clients.at(-1)?.close();
    await server.kill();
    rmSync(folder, { recursive: true, force: true });
  }
});

it("an engine that lists one of three servers shows that its logs have one copy, until it lists all", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "svc-nats-copies-"));
  const healthWith = async (urls: readonly string[]): Promise<ComponentHealth> => {
    const cluster = await Cluster.connect({
      settings: { name: CLUSTER, node: "a", snapshotAfter: 2 ** 30, nats: { servers: urls, replicas: urls.length } },
      ...{ dataDir, logger: silentLogger, onStoreEnded: () => {} },
    });
    const store = await cluster.openStoreOf(`run${urls.length}`)({
      ...{ file: undefined, procedures: ledger, shared: "log18" },
    });
    try {
      return cluster.health();
    } finally {
      await store.close();
      await cluster.stop();
    }
  };
  try {
    expect(await healthWith(servers.urls.slice(0, 1))).toEqual({
      status: "degraded",
      details: expect.stringContaining("not enough NATS servers keep these logs: log18 (1), of 3"),
    });
    expect(await healthWith(servers.urls)).toEqual({
      status: "healthy",
      details: "a of cluster test, no other engine is there; durability: durable",
    });
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
});

describe("the check of the servers at the start", () => {
  const settings = (...urls: string[]): NatsSettings => ({ servers: urls, replicas: 1 });
  const connectTo = async (given: NatsSettings, cluster = CLUSTER): Promise<NatsClient> => {
    const opened = await connectNats({
      settings: given,
      ...{ cluster, node: "a", logger: silentLogger, startWaitMs: 0 },
    });
    clients.push(opened);
    return opened;
  };
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "svc-nats-check-"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it("says whether writes are synced, if the servers tell it", async () => {
    const { nats } = clients[0] as NatsClient;
    await checkServer(nats, CLUSTER);
    expect(await durabilityOf(nats, CLUSTER)).toEqual({ durability: "durable", servers: 3 });
    expect(await durabilityOf(nats, `${CLUSTER}.none`)).toMatchObject({
      durability: "relaxed",
      reason: expect.stringContaining("do not tell"),
    });
  });

  it("names what to do about a server without JetStream, with other credentials, for another cluster, or none", async () => {
    const port = await freePort();
    const config = `listen: "127.0.0.1:${port}"\nmax_payload: 1MB\nauthorization { user: a, password: b }\n`;
    const server = await startNatsServer({ folder, name: "plain", port, config });
    try {
      await expect(connectTo(settings(server.url))).rejects.toThrow("refuses the credentials: check nkey_seed");
      const plain = await connectTo({ ...settings(server.url), user: "a", password: "b" });
      await expect(checkServer(plain.nats, CLUSTER)).rejects.toThrow("has no JetStream: add a `jetstream` block");
    } finally {
      await server.kill();
    }
    await expect(connectTo(settings(server.url))).rejects.toThrow(/no NATS server can be reached at .* start one/);
    const elsewhere = await connectTo(settings(...servers.urls), "other");
    await expect(checkServer(elsewhere.nats, "other")).rejects.toThrow(
      "engine.cluster.name must be the name that their file was made for",
    );
    const wrong = {
      client: clients[0] as NatsClient,
      cluster: "other",
      store: "queue",
      replicas: 1,
      logger: silentLogger,
    };
    await expect(NatsLog.open(wrong)).rejects.toThrow("engine.cluster.name must be the name");
    await expect((await NatsSeeds.open(wrong)).list("log")).rejects.toThrow("engine.cluster.name must be the name");
  });

  it("refuses an old server, and one that syncs late is shown", async () => {
    const old = createServer((socket) => {
      const info = {
        server_id: "x",
        version: "2.9.10",
        proto: 1,
        headers: true,
        max_payload: 1_048_576,
        jetstream: true,
      };
      socket.write(`INFO ${JSON.stringify(info)}\r\n`);
      socket.on("data", (data) => data.includes("PING") && socket.write("PONG\r\n"));
      socket.on("error", () => undefined);
    });
    await once(old.listen(0, "127.0.0.1"), "listening");
    const { port } = old.address() as AddressInfo;
    const client = await connectTo(settings(`nats://127.0.0.1:${port}`));
    await expect(checkServer(client.nats, CLUSTER)).rejects.toThrow(
      "is version 2.9.10, which loses streams when it is killed",
    );
    await client.close();
    old.close();

    const late = await freePort();
    const file = serverConfig({
      ...{ cluster: CLUSTER, name: "late", listen: `127.0.0.1:${late}`, storeDir: join(folder, "late") },
      ...{ routes: [], clusterListen: "" },
    });
    const config = file.replace("sync_interval: always", "sync_interval: 1m");
    const server = await startNatsServer({ folder, name: "late", port: late, config });
    try {
      const { nats } = await connectTo(settings(server.url));
      await checkServer(nats, CLUSTER);
      expect(await durabilityOf(nats, CLUSTER)).toEqual({
        ...{ durability: "relaxed", servers: 1 },
        reason: expect.stringContaining("the NATS servers late acknowledge writes before they are on disk"),
      });
    } finally {
      await server.kill();
    }
  });
});

it("an engine uses a server with TLS by its NKey, and another key is refused", async () => {
  const folder = mkdtempSync(join(tmpdir(), "svc-nats-tls-"));
  const port = await freePort();
  const [known, unknown] = [newNkey(), newNkey()];
  const [config = ""] = serverConfigs({
    ...{ cluster: CLUSTER, folder, servers: [{ host: "127.0.0.1", port }], nkeys: [known.publicKey] },
    tls: { cert: certificateFile("server.pem"), key: certificateFile("server.key"), ca: certificateFile("ca.pem") },
  });
  const server = await startNatsServer({ folder, name: "tls", port, config });
  const connectWith = (settings: Partial<NatsSettings>): Promise<NatsClient> =>
    connectNats({
      settings: { servers: [`nats://localhost:${port}`], replicas: 1, ...settings },
      ...{ cluster: CLUSTER, node: "a", logger: silentLogger, startWaitMs: 0 },
    });
  const tls = { ca: certificateFile("ca.pem") };
  try {
    const client = await connectWith({ nkeySeed: known.seed, tls });
    await checkServer(client.nats, CLUSTER);
    const log = await NatsLog.open({ client, cluster: CLUSTER, store: "queue", replicas: 1, logger: silentLogger });
    expect(await log.append("a", Buffer.from("A"))).toBe(1);
    await client.close();
    await expect(connectWith({ nkeySeed: unknown.seed, tls })).rejects.toThrow("refuses the credentials");
    await expect(connectWith({ tls })).rejects.toThrow("refuses the credentials");
    await expect(connectWith({ nkeySeed: known.seed })).rejects.toThrow("check engine.cluster.nats.tls");
  } finally {
    await server.kill();
    rmSync(folder, { recursive: true, force: true });
  }
});

it("a server is named by its IP address, for which alone its certificate is", async () => {
  const folder = mkdtempSync(join(tmpdir(), "svc-nats-tls-"));
  const port = await freePort();
  const [cert, key] = [certificateFile("address.pem"), certificateFile("address.key")];
  const startAt = (host: string): Promise<NatsServer> => {
    const data = join(folder, host);
    const [config = ""] = serverConfigs({
      ...{ cluster: CLUSTER, folder: data, servers: [{ host, port }], tls: { cert, key, ca: cert } },
    });
    return startNatsServer({ folder, name: host, port, config });
  };
  const servers = [await startAt("127.0.0.1"), await startAt("127.0.0.2")];
  const connectTo = (host: string): Promise<NatsClient> =>
    connectNats({
      settings: { servers: [`nats://${host}:${port}`], replicas: 1, tls: { ca: cert } },
      ...{ cluster: CLUSTER, node: "a", logger: silentLogger, startWaitMs: 0 },
    });
  try {
    await (await connectTo("127.0.0.1")).close();
    await expect(connectTo("localhost")).rejects.toThrow("does not match certificate's altnames: Host: localhost");
    await expect(connectTo("127.0.0.2")).rejects.toThrow("does not match certificate's altnames: IP: 127.0.0.2");
  } finally {
    await Promise.all(servers.map((server) => server.kill()));
    rmSync(folder, { recursive: true, force: true });
  }
});

it("workers are asked to go to another engine when the engine's server has lost the majority", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "svc-nats-majority-"));
  const clock = manualClock();
  const cluster = await Cluster.connect({
    settings: {
      ...{ name: CLUSTER, node: "a", snapshotAfter: 2 ** 30 },
      nats: { servers: servers.urls.slice(0, 1), replicas: 3 },
    },
    ...{ dataDir, clock, logger: silentLogger, onStoreEnded: () => {} },
  });
  const store = await cluster.openStoreOf("run")<LedgerProcedures>({
    ...{ file: undefined, procedures: ledger, shared: "log17", timeoutClock: clock },
  });
  const engine = await inMemoryEngine({
    ...{ clock, dataDir, cluster: cluster.nodeOptions },
    startNodes: (nodes) => cluster.start(nodes),
  });
  const worker = await engine.connectWorker({ kind: "worker" });
  let isAsked = false;
  const asked = worker
    .next(({ type }) => type === "draining")
    .then(() => {
      isAsked = true;
    });
  const others = servers.servers.slice(1);
  for (const server of others) server.process.kill("SIGSTOP");
  try {
    const write = store.call("add", "1");
    await new Promise((resolve) => process.nextTick(resolve));
    clock.advance(19_000);
    await new Promise((resolve) => setImmediate(resolve));
    expect(isAsked).toBe(false);
    clock.advance(2_000);
    await expect(write).rejects.toMatchObject({ code: "store_unavailable" });
    await asked;
  } finally {
    for (const server of others) server.process.kill("SIGCONT");
    const closed = store.close();
    clock.advance(20_000);
    await closed;
    await engine.stop();
    await cluster.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
});
