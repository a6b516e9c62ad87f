import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePorts } from "@svc-runtime/protocol/testing";
import { connect, silentLogger, type Worker } from "@svc-runtime/sdk";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type EngineProcess, startEngine } from "./support/cli.ts";

const MODULES = ["http", "state", "stream", "cron", "event", "queue"];
const project = mkdtempSync(join(tmpdir(), "svc-trigger-configs-"));
let engine: EngineProcess;
let worker: Worker;

beforeAll(async () => {
  const ports = await freePorts();
  const workers = MODULES.map((name) => `  - name: svc-${name}\n`).join("");
  writeFileSync(join(project, "config.yaml"), `workers:\n${workers}`);
  engine = await startEngine({ cwd: project, ports });
  worker = connect(`ws://localhost:${ports.bridge}`, { name: "triggers", logger: silentLogger, handleSignals: false });
  await worker.connected();
});

afterAll(async () => {
  await worker?.shutdown({ timeoutMs: 1 });
  engine?.child.kill("SIGTERM");
  await engine?.exited;
  rmSync(project, { recursive: true, force: true });
});

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
}

/** Returns a config with all members of the schema, in camelCase. */
function configOf(schema: Schema): unknown {
  for (const inner of schema.anyOf ?? []) {
    const config = configOf(inner);
    if (config !== null) return config;
  }
  if (schema.items !== undefined) return [configOf(schema.items)];
  if (schema.properties === undefined) return null;
  return Object.fromEntries(
    Object.entries(schema.properties).map(([name, inner]) => [
      name.replace(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase()),
      configOf(inner),
    ]),
  );
}

it("the SDK knows every member of the configs of the engine's trigger types, in camelCase", async () => {
  const { trigger_types } = await worker.call<{
    trigger_types: { id: string; trigger_request_format: Schema | null }[];
  }>({ function_id: "engine::trigger-types::list", payload: { include_internal: true, limit: 100 } });
  const types = trigger_types.filter(({ id, trigger_request_format: format }) => {
    return format !== null && !id.startsWith("engine::");
  });
  expect(types.map(({ id }) => id)).toEqual(
    expect.arrayContaining(["http", "state", "state:deleted", "stream", "stream:join", "cron", "event", "queue"]),
  );
  for (const { id, trigger_request_format: format } of types) {
    const config = configOf(format ?? {});
    expect(Object.keys(config as object).length, id).toBeGreaterThan(0);
    const trigger = worker.registerTrigger({ type: id, functionId: "none", config });
    trigger.unregister();
  }
});
