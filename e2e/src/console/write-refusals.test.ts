import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Worker } from "@svc-runtime/sdk";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { pasteIntoEditor } from "./support/json-editor.ts";
import { consoleOfFile, standInOfFile, systemOfFile } from "./support/of-file.ts";
import { checkEach, visit } from "./support/visit.ts";
import { openLive } from "./support/watched-page.ts";

/** Browser messages about broken sockets and calls without a response. */
const BROKEN = [/Failed to load resource/, /WebSocket connection/];
const SDK = new URL("../../../packages/sdk/dist/node.js", import.meta.url).href;

const folder = mkdtempSync(join(tmpdir(), "svc-run-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
writeFileSync(
  join(folder, "worker.mjs"),
  `import { connect } from ${JSON.stringify(SDK)};\nconnect().registerFunction("run::it", () => 1);\n`,
);
writeFileSync(
  join(folder, "svc.worker.yaml"),
  "name: run\nruntime: {kind: node, entry: worker.mjs}\nscripts: {start: node worker.mjs}\n",
);
const MODULES = ["svc-http", "svc-state", "svc-stream", "svc-cron", "svc-event"]
  .map((name) => `  - name: ${name}\n`)
  .join("");
const QUEUES =
  "  - name: svc-queue\n    config: {queue_configs: {default: {}, letters: {max_attempts: 1}, later: {}}}\n";

const system = systemOfFile({ config: `workers:\n${MODULES}${QUEUES}  - name: run\n    path: ${folder}\n` });
const engine = standInOfFile(system);
const console = consoleOfFile(() => ({ engine: engine.ports }));
const readOnly = consoleOfFile(() => ({ engine: system.ports, args: ["--read-only"] }));
let worker: Worker;
/** Address of each trigger by its type, and of the worker that the engine runs. */
const addresses = new Map<string, string>();

beforeAll(async () => {
  worker = await system.worker("clerk");
  worker.registerFunction("clerk::work", () => 1);
  for (const [type, config] of [
    ["http", { api_path: "/work", http_method: "POST" }],
    ["cron", { expression: "0 0 5 1 1 *" }],
    ["event", { topic: "work" }],
    ["queue", { queue: "default" }],
    ["durable:subscriber", { topic: "letters/sent" }],
  ] as const) {
    await worker.registerTrigger({ type, function_id: "clerk::work", config } as Parameters<
      typeof worker.registerTrigger
    >[0]).registered;
  }
  await worker.call({ function_id: "clerk::work", payload: {} });
  const { registered_triggers } = await worker.call<{ registered_triggers: { id: string; trigger_type: string }[] }>({
    function_id: "engine::registered-triggers::list",
    payload: { search: "clerk::work" },
  });
  for (const { id, trigger_type } of registered_triggers) addresses.set(trigger_type, `/triggers/${id}`);
  await worker.call({ function_id: "worker::wait", payload: { name: "run", timeout_ms: 60_000 }, timeoutMs: 70_000 });
  const { workers } = await worker.call<{ workers: { id: string; name: string }[] }>({
    function_id: "engine::workers::list",
    payload: { search: "run" },
  });
  await call("state::set", { scope: "users", key: "ada", value: 1 });
  worker.registerFunction("clerk::fail", () => {
    throw new Error("no");
  });
  const enqueue = (queue: string, more: object) =>
    call<{ job_id: string }>("queue::enqueue", { queue, function_id: "clerk::fail", data: {}, ...more });
  addresses.set("dead letter", `/queues/letters?job=${(await enqueue("letters", {})).job_id}`);
  addresses.set("job", `/queues/later?job=${(await enqueue("later", { delay_ms: 3_600_000 })).job_id}`);
  await vi.waitFor(
    async () => expect((await call<{ dead: number }>("queue::stats", { queue: "letters" })).dead).toBe(1),
    { timeout: 20_000 },
  );
  addresses.set("worker", `/workers/${workers.find(({ name }) => name === "run")?.id}`);
});

const call = async <Result>(function_id: string, payload: object): Promise<Result> =>
  (await worker.call({ function_id, payload })) as Result;

/** A place with its buttons that change something, and the steps that lead there. */
interface Place {
  readonly at: string;
  readonly names: readonly string[];
  readonly before?: (page: Page) => Promise<void>;
}

const PLACES: readonly Place[] = [
  { at: "worker", names: ["Restart"] },
  { at: "http", names: ["Send"] },
  { at: "cron", names: ["Trigger Now", "Pause the schedule"] },
  { at: "event", names: ["Emit"] },
  { at: "queue", names: ["Publish"] },
  { at: "/functions/clerk::work?tab=invoke", names: ["Invoke"] },
  {
    at: "/states/users/ada?tab=edit",
    names: ["Add item", "Import", "Delete group", "Delete the item", "Save …"],
    before: (page) => pasteIntoEditor(page, "2"),
  },
  {
    at: "/states/gone",
    names: ["Restore"],
    async before(page) {
      await call("state::set", { scope: "gone", key: "short-lived", value: 1 });
      await page.getByRole("row").filter({ hasText: "short-lived" }).click();
      await page.getByRole("tab", { name: "Value" }).waitFor();
      await call("state::delete", { scope: "gone", key: "short-lived" });
      await page.getByText("This item was deleted.").waitFor();
    },
  },
  { at: "/queues/later", names: ["Pause", "Purge"] },
  { at: "/queues/later?tab=enqueue", names: ["Enqueue"] },
  { at: "job", names: ["Cancel the job …"] },
  {
    at: "/queues/letters?tab=dead",
    names: ["Redrive 1 selected", "Discard 1", "Redrive all"],
    before: (page) => page.getByRole("checkbox").first().check(),
  },
  { at: "dead letter", names: ["Redrive", "Edit and redrive …", "Discard …"] },
  { at: "/queues/letters%2Fsent", names: ["Publish"] },
  {
    at: "/streams?sub=letters:all",
    names: ["Send this event again"],
    async before(page) {
      await page.getByLabel("Subscriptions").getByText("live").waitFor();
      await call("stream::send", { stream_name: "letters", group_id: "all", type: "sent", data: { to: "ada" } });
      await page.getByRole("row").filter({ hasText: "ada" }).first().click();
    },
  },
  {
    at: "/functions/clerk::work?tab=history",
    names: ["Replay"],
    before: (page) => page.getByRole("grid", { name: "Invocations" }).getByRole("row").nth(1).click(),
  },
  {
    at: "/functions/clerk::work?tab=invoke",
    names: ["Save the input"],
    async before(page) {
      await page.getByRole("button", { name: "Templates…" }).click();
      await page.getByRole("dialog").getByLabel("Name").fill("mine");
    },
  },
];

const addressOf = ({ at }: Place): string => addresses.get(at) ?? at;

const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });

const nameOf = ({ at, names }: Place): string => `${names.join(", ")} on ${at}`;

it("a read-only console disables what changes something, and says why", async () => {
  const { page } = await openLive(`${readOnly.url}/workers`, { expected: BROKEN });
  await checkEach(PLACES, nameOf, async (place) => {
    await visit(page, addressOf(place));
    await place.before?.(page);
    for (const name of place.names) {
      await button(page, name).and(page.locator(":disabled")).waitFor();
      expect(await button(page, name).getAttribute("title")).toContain("read-only");
    }
  });
});

it.each(PLACES)("on $at $names is disabled without the engine, and enabled again with it", async (place) => {
  const { page } = await openLive(`${console.url}${addressOf(place)}`, { expected: BROKEN, document: "any" });
  await place.before?.(page);
  for (const name of place.names) await expect.poll(() => button(page, name).isEnabled()).toBe(true);
  await engine.goAway();
  for (const name of place.names) {
    await button(page, name).and(page.locator(":disabled")).waitFor();
    await expect.poll(() => button(page, name).getAttribute("title")).toBe("The engine cannot be reached");
  }
  await engine.comeBack();
  for (const name of place.names)
    await expect.poll(() => button(page, name).isEnabled(), { timeout: 30_000 }).toBe(true);
});
