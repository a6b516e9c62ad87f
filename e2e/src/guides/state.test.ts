import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type EngineProcess, startEngine, svc } from "../support/cli.ts";
import { type Guide, openGuide } from "./run-guide.ts";

// The guide in the order in which a reader follows it: each test continues where the previous one ended.
let guide: Guide;
let restored: EngineProcess | undefined;
beforeAll(async () => {
  guide = await openGuide("state.md", { config: "config" });
});
afterAll(async () => {
  restored?.child.kill("SIGKILL");
  await guide?.close();
});

describe("the guide to state", () => {
  it.each(["visits", "reader", "updates", "reserve", "session", "copy-users"])(
    "prints the documented output: %s",
    async (name) => {
      const { output } = await guide.finish(name, { env: { SVC_LOG_LEVEL: "warn" } });
      expect(output).toBe(guide.text(`${name}-output`));
    },
  );

  it("calls a function by its id", async () => {
    const { output } = await guide.finish("by-id");
    expect(JSON.parse(output)).toEqual({ name: "Ada", visits: 1 });
  });

  it("reacts to changes in order, and not to a write that changes nothing", async () => {
    const watcher = await guide.run("watcher", { env: { SVC_LOG_LEVEL: "warn" } });
    await watcher.printed("ready");
    await guide.finish("order");
    await watcher.printed("sent 3");
    expect(watcher.output()).toBe(`ready\n${guide.text("watcher-output")}`);
    await watcher.stop();
  });

  it("exports and imports on the command line", async () => {
    const { output } = await guide.finish("move-users");
    expect(output).toMatch(/Exported \d+ items?\nImported 0 items, skipped \d+\n/);
  });

  it("restores a snapshot (gap 77)", async () => {
    await guide.finish("snapshot");
    await guide.worker.call({
      function_id: "state::set",
      payload: { scope: "orders", key: "7", value: "written after the snapshot" },
    });
    const exited = once(guide.engine.child, "close");
    guide.engine.child.kill("SIGTERM");
    await exited;
    await guide.finish("restore");
    restored = await startEngine({ cwd: guide.project, ports: guide.ports });
    const { stdout } = await svc(["trigger", "--function-id=state::get", '--payload={"scope": "orders", "key": "7"}'], {
      cwd: guide.project,
      url: `ws://localhost:${guide.ports.bridge}`,
    });
    expect(JSON.parse(stdout)).toEqual({ status: "sent" });
  });

  it("imports the lines of a snapshot (gap 77)", async () => {
    const line = { scope: "restored", key: "k", value: 1, version: 3, updated_at: "2026-01-01T00:00:00.000Z" };
    await writeFile(join(guide.project, ".svc/data/snapshots/before-the-move.ndjson"), `${JSON.stringify(line)}\n`);
    const { output } = await guide.finish("restore-lines", { env: { SVC_LOG_LEVEL: "warn" } });
    expect(output).toContain("{ imported: 1, skipped: 0 }");
  });

  it("has run every sample", () => {
    expect(guide.notRun()).toEqual([]);
  });
});
