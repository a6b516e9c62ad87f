import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { seeded } from "../state-load/plan.ts";
import { CuttableProxy } from "../support/cuttable-proxy.ts";
import { say } from "../support/say.ts";
import { replicaProblems } from "./cluster-replicas.ts";
import { ClusterScene, NODES, type NodeName } from "./cluster-scene.ts";
import { faultsFolder } from "./disks.ts";
import { HistoryClients, KEYS, KINDS } from "./history-clients.ts";
import { checkedByPorcupine, type ItemCall } from "./porcupine.ts";
import { amount, figure } from "./runs.ts";
import { pause } from "./scene.ts";

const RUNS = amount(50, 3);
/** Longer than the other engines take to expel one that is killed. */
const AWAY_MS = 6_000;
/** The others expel an engine that does nothing for the longer of these times. */
const [SHORT_MS, LONG_MS] = [2_000, 10_000];
/** Longer than a write waits for the log. */
const REFUSED_MS = 25_000;

/** Breaks one thing of a cluster, and repairs it. `at`: which engine or server. `part`: from 0 to 1. */
type Fault = (at: number, part: number) => Promise<void>;

let scene: ClusterScene | undefined;
let clients: HistoryClients | undefined;
const proxies = new Map<NodeName, readonly CuttableProxy[]>();

afterEach(async () => {
  await clients?.stop();
  await scene?.close();
  await Promise.all([...proxies.values()].flat().map((proxy) => proxy.close()));
});

/** Returns all faults by their names. */
function faultsOf(scene: ClusterScene): ReadonlyMap<string, Fault> {
  const nameOf = (at: number): NodeName => NODES[at] ?? "a";
  const killEngine = async (at: number, awayMs: number): Promise<void> => {
    scene.signal(nameOf(at), "SIGKILL");
    await pause(awayMs);
    await scene.startAgain(nameOf(at));
  };
  const killServers = async (which: readonly number[], awayMs: number): Promise<void> => {
    await Promise.all(which.map((at) => scene.killServer(at)));
    await pause(awayMs);
    await Promise.all(which.map((at) => scene.servers.servers[at]?.restart()));
  };
  const suspendEngine = async (at: number, ms: number): Promise<void> => {
    scene.signal(nameOf(at), "SIGSTOP");
    await pause(ms);
    scene.signal(nameOf(at), "SIGCONT");
  };
  const suspendServer = async (at: number, ms: number): Promise<void> => {
    const process = scene.servers.servers[at]?.process;
    process?.kill("SIGSTOP");
    await pause(ms);
    process?.kill("SIGCONT");
  };
  const cutOff = async (at: number, ms: number): Promise<void> => {
    const own = proxies.get(nameOf(at)) ?? [];
    for (const proxy of own) proxy.cut();
    await pause(ms);
    for (const proxy of own) proxy.heal();
  };
  return new Map<string, Fault>([
    ["an engine killed, started again at once", (at) => killEngine(at, 0)],
    ["an engine killed, away for 6 s", (at) => killEngine(at, AWAY_MS)],
    ["a server killed", (at, part) => killServers([at], part * 3_000)],
    ["all servers killed", (_, part) => killServers([0, 1, 2], part * 3_000)],
    ["an engine suspended for 2 s", (at) => suspendEngine(at, SHORT_MS)],
    ["an engine suspended for 10 s", (at) => suspendEngine(at, LONG_MS)],
    ["a server suspended for 2 s", (at) => suspendServer(at, SHORT_MS)],
    ["a server suspended for 10 s", (at) => suspendServer(at, LONG_MS)],
    ["an engine cut off from all servers for 3 to 14 s", (at, part) => cutOff(at, 3_000 + part * 11_000)],
    ["an engine cut off from all servers for 25 s", (at) => cutOff(at, REFUSED_MS)],
  ]);
}

/** Draws what happens in each run: all faults equally often, in an order of the seed. */
function planOf(kinds: readonly string[], random: () => number) {
  let left: string[] = [];
  return Array.from({ length: RUNS }, () => {
    if (left.length === 0) left = [...kinds];
    const [kind = ""] = left.splice(Math.floor(random() * left.length), 1);
    return { kind, at: Math.floor(random() * 3), part: random(), afterMs: 500 + random() * 2_500 };
  });
}

/** Returns a copy in which the last call, a read, finds what an earlier read found, which was replaced since. */
function withStaleRead(calls: readonly ItemCall[]): ItemCall[] {
  const [last] = calls.slice(-1);
  const writerOf = ({ outcome }: ItemCall) => (outcome?.output as { value?: { by?: number } } | null)?.value?.by;
  const former = calls.find((call) => {
    const isRead = call.key === last?.key && call.kind === "get" && call.outcome?.status === "ok";
    return isRead && writerOf(call) !== undefined && writerOf(call) !== writerOf(last);
  });
  if (last === undefined || former === undefined)
    throw new Error("the history has no read of a value that was replaced");
  return [...calls.slice(0, -1), { ...last, outcome: former.outcome }];
}

it(`histories of state are linearizable in ${RUNS} runs, each with a fault of a process or a connection (G11)`, async () => {
  const { seed, random } = seeded();
  say(`histories of a cluster: seed ${seed}; SVC_SEED=${seed} repeats the faults`);
  const folder = faultsFolder("cluster-histories");
  scene = await ClusterScene.open({
    folder,
    natsOf: async (name, servers) => {
      const own = await Promise.all(servers.map(({ port }) => CuttableProxy.start(port)));
      proxies.set(name, own);
      return own.map(({ url }) => url);
    },
  });
  const faults = faultsOf(scene);
  const plan = planOf([...faults.keys()], random);
  clients = new HistoryClients(scene, random);
  const outcomes = { ok: 0, failed: 0, unknown: 0 };
  let [histories, operations]: [number, readonly ItemCall[]] = [0, []];
  const check = (calls: readonly ItemCall[], run: number) => {
    const file = join(folder, `${run}.jsonl`);
    writeFileSync(file, `${JSON.stringify({ seed: run, operations: calls })}\n`);
    return checkedByPorcupine(file);
  };

  for (const [index, { kind, at, part, afterMs }] of plan.entries()) {
    const history = clients.begin(index + 1);
    await history.progress();
    await pause(afterMs);
    await faults.get(kind)?.(at, part);
    await history.progress();
    await history.finish();
    ({ calls: operations } = history);
    const verdict = await check(operations, index + 1);
    const count = { ok: 0, failed: 0, unknown: 0 };
    for (const { outcome } of operations) if (outcome !== undefined) count[outcome.status] += 1;
    say(`${index + 1}: ${kind} (${at}): ${count.ok} answered, ${count.failed} failed, ${count.unknown} unknown`);
    // The folder is removed at the end.
    for (const { key } of [...verdict.illegal, ...verdict.undecided])
      for (const call of operations.filter((one) => one.key === key)) say(JSON.stringify(call));
    expect(verdict).toEqual({ histories: KEYS.length, illegal: [], undecided: [] });
    const answered = operations.filter(({ outcome }) => outcome?.status === "ok");
    expect(new Set(answered.map(({ kind }) => kind))).toEqual(new Set(KINDS));
    expect(scene.unexpected).toEqual([]);
    for (const status of ["ok", "failed", "unknown"] as const) outcomes[status] += count[status];
    histories += verdict.histories;
  }

  // Porcupine would have found a read of an old value.
  const { illegal } = await check(withStaleRead(operations), 0);
  expect(illegal).toEqual([{ seed: 0, key: operations.at(-1)?.key }]);
  const problems = await replicaProblems(scene);
  const counts = [...faults.keys()].map((kind) => [plan.filter((one) => one.kind === kind).length, kind] as const);
  const times = counts.filter(([count]) => count > 0).map(([count, kind]) => `${count} times ${kind}`);
  figure(
    `${RUNS} runs with a fault in a cluster`,
    `${outcomes.ok} calls answered, ${outcomes.failed} failed (not executed), ${outcomes.unknown} of unknown outcome; ` +
      `Porcupine: ${histories} linearizable histories, 0 others; ${times.join(", ")}`,
  );
  expect(problems).toEqual([]);
});
