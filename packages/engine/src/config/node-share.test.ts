import { describe, expect, it } from "vitest";
import { loadModules } from "../modules/index.ts";
import { parseConfig } from "./load.ts";
import type { NodeShare } from "./node-share.ts";

const of = 3;

function shareAt(at: number): NodeShare {
  const nats = { servers: ["nats://127.0.0.1:4222"] };
  return { cluster: { name: "dev", node: "abc"[at], nats }, folder: `/project/.svc/cluster/${"abc"[at]}`, at, of };
}

const modules = await loadModules();

function configAt(text: string, at: number) {
  return parseConfig("/project/config.yaml", text, { env: {}, modules, overrides: { share: shareAt(at) } });
}

/** Returns the names of the workers and commands at each engine. Several processes: `name×2`. */
function spread(text: string): readonly (readonly string[])[] {
  return [0, 1, 2].map((at) => {
    const { localWorkers, commands } = configAt(text, at);
    return [...localWorkers, ...commands].map(({ name, replicas }) => (replicas === 1 ? name : `${name}×${replicas}`));
  });
}

const worker = (name: string, more = ""): string => `  - {name: ${name}, path: ./${name}${more}}\n`;

describe("an engine that is one of several", () => {
  it("runs its share of the workers, in turn", () => {
    expect(spread(`workers:\n${["k", "l", "m", "n"].map((name) => worker(name)).join("")}`)).toEqual([
      ["k", "n"],
      ["l"],
      ["m"],
    ]);
  });

  it("runs its share of a worker's processes", () => {
    expect(spread(`workers:\n${worker("k")}${worker("l", ", replicas: 4")}${worker("m")}`)).toEqual([
      ["k", "l"],
      ["l×2"],
      ["l", "m"],
    ]);
  });

  it("keeps workers that depend on one another together", () => {
    const text = `workers:\n${worker("k", ", depends_on: [m]")}${worker("l")}${worker("m", ", replicas: 2")}${worker("n")}`;
    expect(spread(text)).toEqual([["k", "m×2"], ["l"], ["n"]]);
  });

  it("shares what the file keeps at one engine, unless it says local: true", () => {
    const adapter = (config: string): unknown =>
      configAt(`workers: [{name: svc-queue, config: {adapter: ${config}}}]\n`, 1).modules[0]?.config;
    expect(adapter("{name: file_based}")).toEqual({ adapter: { name: "cluster" } });
    expect(adapter("{name: file_based, config: {local: true}}")).toMatchObject({ adapter: { name: "file_based" } });
    expect(adapter("{name: in_memory}")).toEqual({ adapter: { name: "in_memory" } });
  });

  it("serves and stores its telemetry apart from the others", () => {
    const text = `workers:
  - name: svc-observability
    config: {prometheus: {}, otlp_receiver: {port: 5002}, trace_storage: {directory: traces, max_disk_bytes: 2000000}}
`;
    const [first, second] = [0, 1].map((at) => configAt(text, at).modules[0]?.config);
    const trace_storage = { max_disk_bytes: 2_000_000 };
    expect(first).toEqual({ prometheus: {}, otlp_receiver: { port: 5002 }, trace_storage });
    expect(second).toEqual({ prometheus: { port: 0 }, otlp_receiver: { port: 0 }, trace_storage });
  });

  it("has folders, ports and a place in the cluster of its own, whatever the file says", () => {
    const text = "engine: {data_dir: elsewhere, bridges: [{port: 5001}]}\nworkers: []\n";
    const [first, second] = [configAt(text, 0), configAt(text, 1)];
    expect(second.engine).toMatchObject({
      dataDir: "/project/.svc/cluster/b/data",
      logsDir: "/project/.svc/cluster/b/logs",
      cluster: {
        name: "dev",
        node: "b",
        snapshotAfter: 2 ** 30,
        nats: { servers: ["nats://127.0.0.1:4222"], replicas: 1 },
      },
    });
    expect([first, second].map(({ engine }) => engine.bridges[0]?.address.port)).toEqual([5001, 0]);
    expect(second.effective).toContainEqual({ key: "engine.cluster.node", value: "b", source: "flag" });
  });
});
