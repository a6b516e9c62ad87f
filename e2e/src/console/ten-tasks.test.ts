import type { Worker } from "@svc-runtime/sdk";
import type { Locator, Page } from "playwright-core";
import { beforeAll, expect, it } from "vitest";
import { clipboard } from "./support/clipboard.ts";
import { pasteIntoEditor } from "./support/json-editor.ts";
import { systemOfFile } from "./support/of-file.ts";
import { openLive } from "./support/watched-page.ts";

// Ten tasks of a new user. Seven begin on the Dashboard, and three on what the user has open: an item that is edited, and
// twice a list of traces. Typing is no click.

const MAX_CLICKS = 4;
const system = systemOfFile({
  config: `workers:
${["svc-http", "svc-state", "svc-stream", "svc-cron"].map((name) => `  - name: ${name}\n`).join("")}  - name: svc-queue
    config: {queue_configs: {mails: {max_attempts: 1}}}
`,
});
let worker: Worker;
const sent: unknown[] = [];

const call = (function_id: string, payload: unknown) => worker.call({ function_id, payload });

beforeAll(async () => {
  worker = await system.worker("shop");
  const slow = await system.worker("warehouse");
  slow.registerFunction("stock::find", async ({ ms }: { readonly ms: number }) => {
    await new Promise((resolve) => setTimeout(resolve, ms));
    return null;
  });
  worker.registerFunction("orders::take", async ({ id, ms = 1 }: { readonly id: number; readonly ms?: number }) => {
    await call("engine::log::info", { message: `order ${id} taken`, data: { order_id: id } });
    await worker.call({ function_id: "stock::find", payload: { ms } });
    if (id === 13) throw new Error("card declined");
    return { id };
  });
  worker.registerFunction("mail::send", (job: { readonly to: string }) => {
    if (job.to === "nobody") throw new Error("550 no such user");
    sent.push(job);
    return null;
  });
  const variant = (kind: string, more: object) => ({
    ...{ type: "object", required: ["kind"], properties: { kind: { const: kind }, ...more } },
  });
  worker.registerFunction("pay::start", (input: unknown) => ({ paid: input }), {
    requestFormat: { oneOf: [variant("card", { number: { type: "string" } }), variant("invoice", {})] },
  });
  worker.registerTrigger({ type: "cron", function_id: "orders::report", config: { expression: "0 0 3 * * *" } });
  worker.registerFunction("orders::report", () => null);
  for (const [id, ms] of [
    [7, 1],
    [13, 1],
    [9, 150],
  ])
    await call("orders::take", { id, ms }).catch(() => undefined);
  // Not by the other worker, whose own call would take as long.
  await call("stock::find", { ms: 600 });
  await call("queue::enqueue", { queue: "mails", function_id: "mail::send", data: { to: "nobody" } });
  await call("state::set", { scope: "orders", key: "o-7", value: { status: "paid" } });
  await call("stream::set", { stream_name: "chat", group_id: "lobby", item_id: "1", data: { text: "hello" } });
});

interface Task {
  readonly page: Page;
  readonly click: (target: Locator) => Promise<void>;
  /** Follows a link of the sidebar. */
  readonly go: (page: string) => Promise<void>;
  readonly row: (text: string) => Locator;
}

/** Runs a task and returns its clicks. */
async function clicks(path: string, task: (tools: Task) => Promise<void>): Promise<number> {
  const { page, close } = await openLive(`${system.console.url}${path}`);
  let count = 0;
  const click = async (target: Locator): Promise<void> => {
    count += 1;
    await target.click();
  };
  await task({
    page,
    click,
    go: (name) => click(page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name, exact: true })),
    row: (text) => page.locator("#content").getByRole("row").filter({ hasText: text }).first(),
  });
  await close();
  return count;
}

const button = (page: Page, name: string | RegExp): Locator => page.getByRole("button", { name }).first();

it("finds out why an order failed", async () => {
  const count = await clicks("/", async ({ page, click, go, row }) => {
    await go("Query");
    await click(page.getByRole("searchbox", { name: "Query traces, logs and state" }));
    await page.keyboard.type("error and function:orders::take");
    // Of the whole query, not of what was typed until then.
    await page.getByRole("status").filter({ hasText: 'Traces: 1 · Logs: 0 · State: not searched: "error"' }).waitFor();
    await page.waitForURL(/orders%3A%3Atake$/);
    await click(row("orders::take"));
    await page.waitForURL(/\/traces\/[0-9a-f]{32}/);
    await page.getByText("card declined").first().waitFor();
  });
  expect(count).toBeLessThanOrEqual(MAX_CLICKS);
});

it("finds the slow worker", async () => {
  const count = await clicks("/", async ({ page, click, go }) => {
    await go("Workers");
    const grid = page.getByRole("grid", { name: "Workers" });
    await grid.getByText("warehouse").waitFor();
    const p95 = grid.getByRole("columnheader", { name: "p95" }).getByRole("button");
    await click(p95);
    await click(p95);
    await expect.poll(() => grid.getByRole("row").nth(1).textContent()).toContain("warehouse");
  });
  expect(count).toBeLessThanOrEqual(MAX_CLICKS);
});

it("redrives one dead letter with changed data", async () => {
  await expect.poll(() => call("queue::peek", { queue: "mails", state: "dead" })).toMatchObject({ jobs: [{}] });
  const count = await clicks("/", async ({ page, click, go, row }) => {
    await go("Queues");
    await click(row("mails"));
    await click(button(page, /^Edit and redrive/));
    await pasteIntoEditor(page, '{"to":"ada"}');
    await click(page.getByRole("dialog").getByRole("button", { name: "Redrive", exact: true }));
    await expect.poll(() => sent).toEqual([{ to: "ada" }]);
  });
  expect(count).toBeLessThanOrEqual(MAX_CLICKS);
});

it("undoes a wrong edit of the state", async () => {
  const count = await clicks("/states/orders/o-7?tab=edit", async ({ page, click }) => {
    await pasteIntoEditor(page, '{"status":"lost"}');
    await click(button(page, "Save …"));
    await click(page.getByRole("button", { name: "Save", exact: true }));
    await expect.poll(() => call("state::get", { scope: "orders", key: "o-7" })).toEqual({ status: "lost" });
    await click(button(page, "Undo"));
    await expect.poll(() => call("state::get", { scope: "orders", key: "o-7" })).toEqual({ status: "paid" });
  });
  expect(count).toBeLessThanOrEqual(MAX_CLICKS);
});

it("calls a function whose input is one of several schemas", async () => {
  const count = await clicks("/", async ({ page, click }) => {
    await click(button(page, /Command palette/));
    await page.getByRole("combobox", { name: "Command palette" }).waitFor();
    await page.keyboard.type("pay::start");
    await page
      .getByRole("option", { name: /pay::start/ })
      .first()
      .waitFor();
    await page.keyboard.press("Enter");
    await click(page.getByRole("tab", { name: "Invoke" }));
    const choice = page.getByRole("combobox", { name: /^Schema/ });
    await choice.waitFor();
    await click(choice);
    await choice.selectOption('kind: "invoice"');
    await click(button(page, /^Invoke/));
    await page.getByRole("region", { name: "Result" }).getByText("invoice").waitFor();
  });
  expect(count).toBeLessThanOrEqual(MAX_CLICKS);
});

it("watches a stream", async () => {
  const count = await clicks("/", async ({ page, click, go }) => {
    await go("Streams");
    await click(page.locator("#content").getByRole("button", { name: /lobby/ }).first());
    await page.waitForURL(/sub=/);
    await call("stream::set", { stream_name: "chat", group_id: "lobby", item_id: "2", data: { text: "good morning" } });
    await page.getByRole("grid", { name: "Messages" }).getByText("good morning").first().waitFor();
  });
  expect(count).toBeLessThanOrEqual(MAX_CLICKS);
});

it("shows the logs of a trace", async () => {
  const count = await clicks("/", async ({ page, click, go, row }) => {
    await go("Traces");
    await click(row("orders::take"));
    await click(page.getByText("Logs of this trace"));
    await page.waitForURL(/\/logs\?.*trace=/);
    await row("taken").waitFor();
  });
  expect(count).toBeLessThanOrEqual(MAX_CLICKS);
});

it("pauses a schedule and shows its next runs", async () => {
  const count = await clicks("/", async ({ page, click, go, row }) => {
    await go("Triggers");
    await click(row("orders::report").getByText(/03:00/).first());
    await page.getByText("Next runs").first().waitFor();
    await click(button(page, "Pause the schedule"));
    await page.getByText("Paused: no runs start until the schedule is resumed.").waitFor();
  });
  expect(count).toBeLessThanOrEqual(MAX_CLICKS);
});

it("compares a slow trace with a normal one", async () => {
  const count = await clicks("/traces?q=duration>100ms", async ({ page, click, row }) => {
    await click(row("orders::take"));
    await click(button(page, "Compare with…"));
    await click(page.getByRole("dialog").getByRole("listitem").getByRole("button").last());
    await page.waitForURL(/compare=/);
    await row("stock::find").waitFor();
  });
  expect(count).toBeLessThanOrEqual(MAX_CLICKS);
});

it("shares exactly this view", async () => {
  const count = await clicks("/traces?q=orders&range=15m", async ({ page, click, row }) => {
    await row("orders::take").waitFor();
    await click(button(page, "Copy the link to this view"));
    // The range is resolved to times, so that the link shows the same later.
    await expect.poll(() => clipboard(page)).toMatch(/\/traces\?q=orders&from=\d+&to=\d+/);
  });
  expect(count).toBeLessThanOrEqual(MAX_CLICKS);
});
