import { beforeAll, expect, it } from "vitest";
import { systemOfFile } from "./support/of-file.ts";
import { checkEach, visit } from "./support/visit.ts";
import { openLive } from "./support/watched-page.ts";

const MODULES = ["svc-http", "svc-state", "svc-stream", "svc-cron", "svc-event", "svc-queue"];
const system = systemOfFile({
  consoleArgs: ["--enable-flow"],
  config: `workers:
${MODULES.map((name) => `  - name: ${name}\n`).join("")}  - name: svc-observability
    config:
      alerts:
        - {name: no-workers, metric: svc.workers, operator: ">", threshold: 0, window_seconds: 60, action: {type: log}}
`,
});

beforeAll(async () => {
  const worker = await system.worker("shop");
  worker.registerFunction("orders::take", ({ id }: { readonly id: number }) => ({ id }));
  worker.registerTrigger({ type: "cron", function_id: "orders::take", config: { expression: "0 0 3 * * *" } });
  for (const id of [1, 2]) await worker.call({ function_id: "orders::take", payload: { id } });
  await worker.call({ function_id: "engine::log::info", payload: { message: "first" } });
  await worker.call({ function_id: "engine::log::info", payload: { message: "second" } });
  const items = ["a", "b"].map((key) => ({ scope: "keys", key, value: 1 }));
  await worker.call({ function_id: "state::set_many", payload: { items } });
  await worker.call({ function_id: "queue::enqueue", payload: { queue: "default", function_id: "x::y", data: {} } });
});

it("moves in the list of each page with j and k, without a click", async () => {
  const { page } = await openLive(`${system.console.url}/workers`);
  await checkEach(
    [
      "/workers",
      "/functions",
      "/triggers",
      "/states/keys",
      // A join sends the messages of its two groups.
      "/streams?sub=keys:a&sub=keys:b&events=true",
      "/queues",
      "/traces",
      "/logs",
      "/metrics",
      "/query?q=orders",
      "/flow?view=list",
    ],
    (path) => path,
    async (path) => {
      await visit(page, path);
      const grid = page.locator('#content [role="grid"]').first();
      // Headings of sections cannot be selected.
      await grid.locator('[role="row"][aria-selected]').first().waitFor();
      await page.evaluate("document.activeElement?.blur()");
      await page.keyboard.press("j");
      await expect.poll(() => grid.locator('[aria-selected="true"]').count()).toBe(1);
    },
  );
});

it("shows, hides and orders the columns of a table, and keeps the choice", async () => {
  const { page } = await openLive(`${system.console.url}/traces`);
  const headers = page.getByRole("grid", { name: "Traces" }).getByRole("columnheader");
  const names = async (): Promise<readonly string[]> => (await headers.allTextContents()).map((text) => text.trim());
  await headers.filter({ hasText: "Duration" }).waitFor();
  expect(await names()).not.toContain("Errors");
  await page.getByRole("button", { name: "Columns of Traces" }).click();
  await page.getByRole("button", { name: "Show Errors" }).click();
  await headers.filter({ hasText: "Errors" }).waitFor();
  await page.getByRole("button", { name: "Hide Duration" }).click();
  await page.getByRole("button", { name: "Move Service to the left" }).click();
  await expect.poll(names).toEqual(["Service", "Trace ID", "Root Span", "Status", "Spans", "Timestamp", "Errors"]);
  await page.keyboard.press("Escape");
  await visit(page, "/workers");
  await page.getByRole("grid", { name: "Workers" }).waitFor();
  await visit(page, "/traces");
  await headers.filter({ hasText: "Errors" }).waitFor();
  expect((await names())[0]).toBe("Service");
  await page.getByRole("button", { name: "Columns of Traces" }).click();
  await page.getByRole("button", { name: "Reset to defaults" }).click();
  await expect.poll(names).toContain("Duration");
  expect(await names()).not.toContain("Errors");
});

it("counts alerts that began to fire on the bell until they are read", async () => {
  const { page } = await openLive(`${system.console.url}/states`);
  const bell = page.getByRole("button", { name: /^Notifications/ });
  await page.getByRole("button", { name: "Notifications: 1 unread" }).click({ timeout: 40_000 });
  const list = page.getByRole("dialog", { name: "Notifications" });
  await list.getByRole("button", { name: "Mark as read: no-workers" }).click();
  await expect.poll(() => bell.getAttribute("aria-label")).toBe("Notifications");
  await list.getByRole("button", { name: "Mark as unread: no-workers" }).click();
  await list.getByRole("button", { name: "Mark all as read" }).click();
  await expect.poll(() => bell.getAttribute("aria-label")).toBe("Notifications");
  await list.getByRole("link", { name: "no-workers" }).click();
  await page.waitForURL(/\/config\?section=alerts/);
});

it("lists all metrics with search, and draws one over time; a queue shows its history", async () => {
  const { page } = await openLive(`${system.console.url}/metrics`);
  const grid = page.getByRole("grid", { name: "Metrics" });
  await grid.getByRole("row").filter({ hasText: "svc.queue.waiting" }).waitFor();
  await page.getByRole("searchbox", { name: "Search metrics" }).fill("queue waiting");
  await expect.poll(() => grid.getByRole("row").count()).toBe(2);
  await grid.getByText("svc.queue.waiting").click();
  await page.waitForURL(/\/metrics\/svc\.queue\.waiting/);
  await page.getByRole("list", { name: "Series" }).getByText("queue=default").waitFor();
  await page.getByRole("region", { name: "Mean" }).waitFor();
  await visit(page, "/queues/default?tab=history");
  await page
    .getByRole("region", { name: "Depth" })
    .getByRole("row", { name: /waiting/ })
    .waitFor({ timeout: 40_000 });
});
