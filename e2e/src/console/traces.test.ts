import { readFile } from "node:fs/promises";
import type { Worker } from "@svc-runtime/sdk";
import type { Locator, Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { checkAccessibility } from "./support/axe.ts";
import { copiedBy } from "./support/clipboard.ts";
import { holdSocket } from "./support/held-socket.ts";
import { systemOfFile } from "./support/of-file.ts";
import { startSystem } from "./support/running-system.ts";
import { visit } from "./support/visit.ts";
import { openLive, openPage } from "./support/watched-page.ts";

const system = systemOfFile();
let caller: Worker;
let math: Worker;
/** Ends the pending call of `math::wait`. */
let release: () => void = () => undefined;

beforeAll(async () => {
  math = await system.worker("math-worker");
  caller = await system.worker("caller-worker");
  math.registerFunction("math::add", ({ a, b }: { a: number; b: number }) => {
    if (a < 0) throw new Error("negative numbers are not added here");
    return { c: a + b };
  });
  math.registerFunction(
    "math::wait",
    () => new Promise<{ waited: true }>((resolve) => (release = () => resolve({ waited: true }))),
  );
  caller.registerFunction("orders::sum", async (payload: { a: number; b: number }) =>
    caller.call({ function_id: "math::add", payload }),
  );
  caller.registerFunction("orders::wait", async () => caller.call({ function_id: "math::wait", payload: {} }));
});

function row(page: Page, text: string | RegExp) {
  return page.getByRole("row").filter({ hasText: text });
}

/** Returns the id of the trace once it is in the list. */
async function traceIdOf(page: Page, text: string): Promise<string> {
  await visit(page, `/traces?q=${encodeURIComponent(text)}`);
  const href = await row(page, text).first().getByRole("link").first().getAttribute("href");
  return /\/traces\/([0-9a-f]{32})/.exec(href ?? "")?.[1] ?? "";
}

/** Resolves once the engine has a trace that matches the query. */
async function untilStored(query: string): Promise<void> {
  const matching = () => caller.call<{ total: number }>({ function_id: "engine::traces::list", payload: { query } });
  await expect.poll(async () => (await matching()).total).toBeGreaterThan(0);
}

it("shows a new trace without a reload, and opens it and its spans by keyboard", async () => {
  const { page } = await openLive(`${system.console.url}/traces`);
  await page.getByText("No traces yet").waitFor();
  const fetched: (string | null)[] = [];
  page.on("request", (request) => {
    if (request.postData()?.includes("trace_ids") === true) fetched.push(request.postData());
  });
  await caller.call({ function_id: "orders::sum", payload: { a: 2, b: 3 } });
  await row(page, "orders::sum").waitFor();
  // The engine sent the summary, so the page need not ask for the trace.
  expect(fetched).toEqual([]);
  const grid = page.getByRole("grid", { name: "Traces" });
  await grid.focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/traces\/[0-9a-f]{32}/);
  const tree = page.getByRole("treegrid", { name: "Spans" });
  await tree.getByRole("row").filter({ hasText: "math::add" }).waitFor();
  await tree.focus();
  await page.keyboard.press("ArrowLeft");
  await tree.getByRole("row").filter({ hasText: "math::add" }).waitFor({ state: "detached" });
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  await page.getByRole("region", { name: "math::add" }).waitFor();
  expect(page.url()).toMatch(/\/traces\/[0-9a-f]{32}\/[0-9a-f]{16}/);
  await page.keyboard.press("Escape");
  await page.getByRole("region", { name: "math::add" }).waitFor({ state: "detached" });
});

it("shows traces of the time between its list and the first update", async () => {
  const { page } = await openPage("about:blank");
  const socket = await holdSocket(page, { sent: "svc.traces" });
  await page.goto(`${system.console.url}/traces?q=name:math::late`);
  await page.getByText("Nothing matches").waitFor();
  await expect.poll(() => socket.sent.some((message) => message.includes("svc.traces"))).toBe(true);
  math.registerFunction("math::late", () => ({ ok: true }));
  await caller.call({ function_id: "math::late", payload: {} });
  await untilStored("name:math::late");
  socket.release();
  await row(page, "math::late").waitFor();
});

it("shows spans of the time between its load and the first update", async () => {
  let end: () => void = () => undefined;
  const hasEnded = new Promise<void>((resolve) => (end = resolve));
  math.registerFunction("math::ends", () => hasEnded.then(() => ({ ok: true })));
  const pending = caller.call({ function_id: "math::ends", payload: {} });
  const list = await openPage(`${system.console.url}/traces`);
  const id = await traceIdOf(list.page, "math::ends");
  await list.close();
  const { page } = await openPage("about:blank");
  const socket = await holdSocket(page, { sent: "svc.traces" });
  await page.goto(`${system.console.url}/traces/${id}`);
  await page.getByText("so far").waitFor();
  await expect.poll(() => socket.sent.some((message) => message.includes("svc.traces"))).toBe(true);
  end();
  await pending;
  await untilStored("name:math::ends status:ok");
  socket.release();
  await page.getByText("so far").waitFor({ state: "detached" });
});

it("shows an error in the span that failed, and finds the trace by its status", async () => {
  await expect(caller.call({ function_id: "orders::sum", payload: { a: -1, b: 3 } })).rejects.toThrow("negative");
  const { page } = await openPage(`${system.console.url}/traces?status=error`);
  await row(page, "orders::sum").waitFor();
  await expect.poll(() => row(page, "orders::sum").count()).toBe(1);
  await row(page, "orders::sum").click();
  await page.getByRole("treegrid").getByRole("row").filter({ hasText: "math::add" }).click();
  await page.getByRole("tab", { name: /Errors/ }).click();
  await page.getByRole("tabpanel").getByText("negative numbers are not added here").first().waitFor();
  await page.getByRole("tab", { name: /Tags/ }).click();
  await page.getByRole("tabpanel").getByText("math::add", { exact: true }).first().waitFor();
});

it("updates a pending trace live until it ends", async () => {
  const waiting = caller.call({ function_id: "orders::wait", payload: {} });
  const { page } = await openPage(`${system.console.url}/traces?status=pending`);
  await row(page, "orders::wait").waitFor();
  await row(page, "orders::wait").click();
  await page.getByText("so far").waitFor();
  const waitingRow = page.getByRole("treegrid").getByRole("row").filter({ hasText: "math::wait" });
  const before = await waitingRow.textContent();
  await expect.poll(() => waitingRow.textContent()).not.toBe(before);
  release();
  await waiting;
  await page.getByText("so far").waitFor({ state: "detached" });
});

it.each([
  ["status:error", "orders::sum"],
  ["service:math-worker name:orders::sum", "orders::sum"],
])("applies the filter %s from the address, and shows when nothing matches", async (q, found) => {
  const { page } = await openPage(`${system.console.url}/traces?q=${encodeURIComponent(q)}`);
  await row(page, found).first().waitFor();
  await page.getByRole("searchbox").fill(`${q} name:nothing-is-called-that`);
  await page.getByText("Nothing matches").waitFor();
  await page.getByRole("button", { name: "Clear the filters" }).click();
  await row(page, "orders::wait").first().waitFor();
  expect(new URL(page.url()).searchParams.get("q")).toBeNull();
});

it("completes a query, keeps it in the address, and names the position of an error", async () => {
  const { page } = await openPage(`${system.console.url}/traces`);
  await row(page, "orders::wait").first().waitFor();
  const box = page.getByRole("searchbox");
  await box.pressSequentially("error and func");
  await page.getByRole("option", { name: "function:" }).click();
  await page.getByRole("option", { name: "orders::sum" }).waitFor();
  await checkAccessibility(page, "suggestions", () => page.getByRole("option", { name: "orders::sum" }).waitFor());
  await page.getByRole("option", { name: "orders::sum" }).click();
  await expect.poll(() => new URL(page.url()).searchParams.get("q")).toBe("error and function:orders::sum");
  await row(page, "orders::wait").waitFor({ state: "detached" });
  await expect.poll(() => row(page, "orders::sum").count()).toBe(1);

  await visit(page, `/traces?q=${encodeURIComponent("(error or function:orders::w*) and not duration>1h")}`);
  await row(page, "orders::wait").first().waitFor();
  await expect.poll(() => row(page, "orders::sum").count()).toBe(1);

  await box.fill("error functon:x");
  await page.getByText("unknown field functon; did you mean function? (at character 7)").waitFor();
});

it("switches between views, each with its own address", async () => {
  const { page } = await openPage(`${system.console.url}/traces`);
  const traceId = await traceIdOf(page, "orders::sum");
  await visit(page, `/traces/${traceId}?view=services`);
  await row(page, "math-worker").waitFor();
  await visit(page, `/traces/${traceId}?view=flame`);
  await page.getByRole("tree").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.getByRole("region", { name: "math::add" }).waitFor();
  await visit(page, `/traces/${traceId}?view=map`);
  await page.locator(".react-flow__node").filter({ hasText: "math-worker" }).waitFor();
  await page.getByRole("button", { name: "List" }).click();
  await row(page, "caller-worker").filter({ hasText: "math-worker" }).waitFor();
  await visit(page, `/traces/${traceId}?compare=${traceId}`);
  await page.getByRole("grid", { name: "Differences" }).getByText("same").first().waitFor();
});

it("finds spans by their attributes, and copies the trace with all of them", async () => {
  const { page } = await openPage(`${system.console.url}/traces`);
  const traceId = await traceIdOf(page, "orders::sum");
  await visit(page, `/traces/${traceId}?span=${encodeURIComponent("svc.function_id=math::add")}`);
  await page.getByText(/^[1-9]\d* of \d+ match$/).waitFor();
  await page.getByRole("treegrid").getByRole("row").filter({ hasText: "math::add" }).first().waitFor();
  await page.getByRole("searchbox", { name: "Filter spans" }).fill("svc.function_id=math::nothing");
  await page.getByText("No span matches").waitFor();
  await page.getByRole("button", { name: "Clear the filters" }).click();
  await page.getByRole("treegrid").getByRole("row").filter({ hasText: "math::add" }).first().waitFor();
  const copied = JSON.parse(await copiedBy(page.getByRole("button", { name: "Copy JSON" }))) as readonly {
    readonly attributes: readonly string[][];
  }[];
  expect(copied.flatMap(({ attributes }) => attributes)).toContainEqual(["svc.function_id", "math::add"]);
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Export OTLP" }).click(),
  ]);
  expect(await readFile(await file.path(), "utf8")).toContain(
    '"key":"svc.function_id","value":{"stringValue":"math::add"}',
  );
});

it("opens a trace of 10,000 spans at the span in the address", async () => {
  // The engine stores 10,000 spans by default. A separate system does not evict the spans of the other tests.
  const large = await startSystem({
    config: "workers:\n  - name: svc-observability\n    config: {exporter: memory, memory_max_spans: 50000}\n",
  });
  const worker = await large.worker("orders-worker");
  worker.registerFunction("orders::one", () => 1);
  worker.registerFunction("orders::fan", async ({ calls }: { calls: number }) => {
    await Promise.all(Array.from({ length: calls }, () => worker.call({ function_id: "orders::one", payload: {} })));
    return calls;
  });
  await worker.call({ function_id: "orders::fan", payload: { calls: 9_999 }, timeoutMs: 60_000 });
  const { page, close } = await openPage(`${large.console.url}/traces`);
  const traceId = await traceIdOf(page, "orders::fan");
  await visit(page, `/traces/${traceId}`);
  const tree = page.getByRole("treegrid");
  await tree.getByRole("row").filter({ hasText: "orders::one" }).first().waitFor();
  await page.locator('[role="treegrid"][aria-rowcount="10001"]').waitFor({ timeout: 60_000 });
  // Only visible rows are rendered.
  expect(await tree.getByRole("row").count()).toBeLessThan(100);
  await tree.focus();
  await page.keyboard.press("End");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/traces\/[0-9a-f]{32}\/[0-9a-f]{16}/);
  const last = page.url();
  await page.goto("about:blank");
  await page.goto(last);
  await tree.locator('[role="row"][aria-selected="true"]').waitFor({ timeout: 60_000 });
  const selected = tree.locator('[role="row"][aria-selected="true"]');
  expect(await selected.getAttribute("aria-rowindex")).toBe("10001");
  // The whole row is visible, not only its upper edge.
  const bottomOf = async (of: Locator): Promise<number> => {
    const box = await of.boundingBox();
    return (box?.y ?? 0) + (box?.height ?? 0);
  };
  await expect.poll(async () => (await bottomOf(selected)) - (await bottomOf(tree))).toBeLessThan(1);
  await close();
  await large.stop();
});

it("distinguishes a trace that is not found from a failed call, which can be retried", async () => {
  const { page } = await openPage(`${system.console.url}/traces`, { expected: [/500/] });
  await visit(page, `/traces/${"0".repeat(31)}1`);
  await page.getByText("Trace not found").waitFor();
  await visit(page, "/traces");
  await row(page, "orders::sum").first().waitFor();
  await page.route("**/api/call*", (route) =>
    route.fulfill({
      status: 500,
      contentType: "application/json",
      body: '{"ok":false,"error":{"code":"broken","message":"on purpose"}}',
    }),
  );
  await visit(page, "/traces?q=another");
  await page.getByRole("alert").getByText("on purpose").waitFor();
  await page.unroute("**/api/call*");
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByText("Nothing matches").waitFor();
});

it("is accessible and fits the window in both themes, wide and narrow", async () => {
  const { page } = await openLive(`${system.console.url}/traces`);
  await row(page, "orders::sum").first().waitFor();
  await checkAccessibility(page, "the list", () => row(page, "orders::sum").first().waitFor());
  await row(page, "orders::sum").first().click();
  await page.getByRole("treegrid").getByRole("row").filter({ hasText: "math::add" }).click();
  const span = page.getByRole("region", { name: "math::add" });
  await span.waitFor();
  await checkAccessibility(page, "a span", () => span.waitFor());
});

describe("the list of traces", () => {
  beforeAll(async () => {
    await caller.call({ function_id: "orders::sum", payload: { a: 1, b: 1 } });
    await caller.call({ function_id: "orders::sum", payload: { a: -1, b: 1 } }).catch(() => undefined);
  });

  it("goes back and forward through filters and groups", async () => {
    const { page } = await openLive(`${system.console.url}/traces`);
    await row(page, "orders::sum").first().waitFor();
    const has = (name: string, value: string | null) => page.waitForURL((url) => url.searchParams.get(name) === value);
    const facet = page.getByRole("complementary", { name: "Facets" }).getByRole("button", { name: /^Error/ });
    await facet.click();
    await has("status", "error");
    await page.getByLabel("Group by").selectOption({ label: "Function" });
    await page.getByRole("grid", { name: "Groups of traces" }).waitFor();
    await page.goBack();
    await has("group", null);
    await facet.and(page.locator("[aria-pressed=true]")).waitFor();
    await page.goBack();
    await has("status", null);
    await facet.and(page.locator("[aria-pressed=false]")).waitFor();
    await page.goForward();
    await has("status", "error");
    await facet.and(page.locator("[aria-pressed=true]")).waitFor();
  });

  it("pauses by the key p, counts changes meanwhile, and resumes by p", async () => {
    const { page } = await openLive(`${system.console.url}/traces?q=math::add_later`);
    await page.getByText("Nothing matches").waitFor();
    await page.keyboard.press("p");
    await page.getByRole("button", { name: "Resume" }).waitFor();
    math.registerFunction("math::add_later", () => 1);
    await expect
      .poll(() => caller.call({ function_id: "math::add_later", payload: {} }).catch(() => undefined))
      .toBe(1);
    await page.getByRole("button", { name: /^Resume \(\d+\)/ }).waitFor();
    expect(await row(page, "math::add_later").count()).toBe(0);
    await page.keyboard.press("p");
    await row(page, "math::add_later").first().waitFor();
  });

  it("has facets that add up to the total, and states how far back it reaches", async () => {
    const { page } = await openLive(`${system.console.url}/traces`);
    await row(page, "orders::sum").first().waitFor();
    await page.getByText("Duration (log scale)").waitFor();
    await page.getByText("No trace has been evicted yet").waitFor();
    await page.getByRole("button", { name: "Keep longer" }).click();
    await page.getByRole("dialog", { name: "How to keep traces longer" }).getByText("trace_storage").waitFor();
    await page.keyboard.press("Escape");
    const facets = page.getByRole("complementary", { name: "Facets" });
    const statuses = facets.getByRole("button", { name: /^(?:OK|Error|Pending)/ });
    for (let calls = 0; calls < 3; calls++) {
      await caller.call({ function_id: "orders::sum", payload: { a: 1, b: calls } });
      await expect
        .poll(async () => {
          const counts = (await statuses.allTextContents()).map((text) => Number(/\d+$/.exec(text)?.[0]));
          const total = Number(await page.getByTitle(/^\d+ in total$/).textContent());
          return counts.reduce((sum, count) => sum + count, 0) - total;
        })
        .toBe(0);
    }
  });
});
