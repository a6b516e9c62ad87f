import { readFileSync } from "node:fs";
import type { Worker } from "@svc-runtime/sdk";
import type { Locator, Page } from "playwright-core";
import { beforeAll, expect, it } from "vitest";
import { checkAccessibility } from "./support/axe.ts";
import { copiedBy } from "./support/clipboard.ts";
import { startConsole } from "./support/console-process.ts";
import { pasteIntoEditor } from "./support/json-editor.ts";
import { systemOfFile } from "./support/of-file.ts";
import { visit } from "./support/visit.ts";
import { openLive, type PageOptions, type WatchedPage } from "./support/watched-page.ts";

const ORDER = {
  type: "object",
  required: ["item", "amount"],
  properties: {
    item: { type: "string", minLength: 1 },
    amount: { type: "integer", minimum: 2 },
    size: { enum: ["s", "m"], default: "m" },
  },
};
/** Console message of the browser about a failed request, which the tests cause. */
const FAILED = /Failed to load resource: the server responded with a status of (?:404|500|503)/;

const system = systemOfFile({ killable: true });
let worker: Worker;
/** Inputs of the calls of the function `noted`. */
const noted: unknown[] = [];
/** Resolves when the call of the function `never` is cancelled. */
let cancelled: Promise<void>;

beforeAll(async () => {
  worker = await system.worker("orders");
  worker.registerFunction("orders::create", (input) => ({ got: input }), {
    description: "Takes an order",
    requestFormat: ORDER,
  });
  worker.registerFunction("orders::fail", () => Promise.reject(new TypeError("no stock")));
  worker.registerFunction("echo", (input) => input);
  worker.registerFunction("noted", (input) => noted.push(input));
  worker.registerFunction("keys", () => ({
    user: "ada",
    password: "hunter2",
    inner: [{ api_key: { live: "k-123" } }],
  }));
  worker.registerFunction("big", () => "x".repeat(5 * 1024 * 1024));
  cancelled = new Promise((resolve) => {
    worker.registerFunction(
      "never",
      (_input, { signal }) =>
        new Promise((_, reject) =>
          signal.addEventListener("abort", () => {
            resolve();
            reject(new Error("cancelled"));
          }),
        ),
    );
  });
  worker.registerTrigger({
    type: "http",
    function_id: "orders::create",
    config: { api_path: "/orders", http_method: "POST" },
  });
});

const open = (path: string, options: PageOptions = {}): Promise<WatchedPage> =>
  openLive(`${system.console.url}${path}`, options);

const textOf = async (locator: Locator): Promise<string> => (await locator.textContent()) ?? "";
const result = (page: Page) => page.getByRole("region", { name: "Result" });

it("lists functions with triggers, workers and status, and follows changes", async () => {
  const { page } = await open("/functions?q=orders");
  const row = page.getByRole("row").filter({ hasText: "orders::create" });
  await row.getByText("1 · http").waitFor();
  await row.getByText("orders", { exact: true }).waitFor();
  await row.getByText("available").waitFor();
  const other = await system.worker("second");
  other.registerFunction("orders::late", () => 1);
  await page.getByRole("row").filter({ hasText: "orders::late" }).waitFor();
  await other.shutdown();
  await page.getByRole("row").filter({ hasText: "orders::late" }).waitFor({ state: "detached" });
});

it("keeps every filter in the URL", async () => {
  const { page } = await open("/functions?group=worker&worker=orders&q=echo");
  await page.getByRole("row").filter({ hasText: "echo" }).waitFor();
  expect(await page.getByRole("row").filter({ hasText: "orders::create" }).count()).toBe(0);
  await page.getByRole("button", { name: "Remove the filter worker: orders" }).click();
  await page.waitForURL((url) => !url.searchParams.has("worker"));
  await page.getByLabel("Search functions").fill("nothing like that");
  await page.getByText("Nothing matches").waitFor();
  await page.getByRole("button", { name: "Clear the filters" }).click();
  await page.getByRole("row").filter({ hasText: "orders::create" }).waitFor();
  expect(await page.getByRole("row").filter({ hasText: "state::get" }).count()).toBe(0);
  await page.getByRole("checkbox", { name: "System" }).check();
  await page.waitForURL(/system=true/);
  await page.getByTitle(/^\d{2,} in total/).waitFor();
  await page.goto(`${system.console.url}/functions?group=worker&system=true&q=state%3A%3Aget`);
  await page.getByRole("button", { name: "By worker", pressed: true }).waitFor();
  await page
    .getByRole("button", { name: /^svc-state/ })
    .first()
    .waitFor();
});

it("invokes with the schema's proposal by keyboard alone, and shows the result", async () => {
  const { page } = await open("/functions?q=orders%3A%3Acreate");
  await page.getByRole("row").filter({ hasText: "orders::create" }).waitFor();
  await page.getByRole("grid", { name: "Functions" }).focus();
  await page.keyboard.press("ArrowDown");
  await page.waitForURL(/functions\/orders(?:::|%3A%3A)create/);
  await page.getByRole("tab", { name: "Overview" }).focus();
  await page.keyboard.press("]");
  await page.getByText("Matches the schema").waitFor();
  await page.keyboard.press("Control+Enter");
  await result(page).getByText("OK", { exact: true }).waitFor();
  expect(await textOf(result(page))).toMatch(/"item": "x"[\s\S]*"amount": 2[\s\S]*"size": "m"/);
});

it.each(["0", "false", "null", '""', "9007199254740993", "[1.50,12345678901234567890]"])(
  "returns %s with all digits",
  async (value) => {
    const { page } = await open("/functions/state::set?tab=invoke");
    // State stores the input exactly. A handler in JavaScript would round the numbers.
    await pasteIntoEditor(page, `{"scope":"digits","key":"k","value":${value}}`);
    // The validation message moves the button.
    await page.getByText("Matches the schema").waitFor();
    await page.getByRole("button", { name: "Invoke", exact: true }).click();
    await result(page).getByText("OK", { exact: true }).waitFor();
    for (const part of value.match(/[\d.]{2,}|^(?:0|false|null|"")$/g) ?? [])
      expect(await textOf(result(page))).toContain(part);
  },
);

it("shows an error in place of the result, and a big result only on request", async () => {
  const { page } = await open("/functions/orders::fail?tab=invoke", { expected: [FAILED], document: "any" });
  await page.getByRole("button", { name: "Invoke", exact: true }).click();
  await result(page).getByRole("alert").getByText("no stock").waitFor();
  await visit(page, "/functions/big?tab=invoke");
  await page.getByRole("button", { name: "Invoke", exact: true }).click();
  await result(page).getByText("Show it anyway").waitFor();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    result(page).getByRole("button", { name: "Download" }).click(),
  ]);
  expect(JSON.parse(readFileSync(await download.path(), "utf8"))).toBe("x".repeat(5 * 1024 * 1024));
});

it("sends no invalid JSON, and sends input that does not match the schema only after confirmation", async () => {
  const { page } = await open("/functions/orders::create?tab=invoke");
  const invoke = page.getByRole("button", { name: "Invoke", exact: true });
  await pasteIntoEditor(page, '{"item":');
  // A click on a button that moves would miss it. The text is validated a moment after its last change. Until then, the
  // script records the position of the button in each frame.
  await page.evaluate(`globalThis.places = new Set();
    const button = [...document.querySelectorAll("button")].find(({ role, textContent }) => role !== "tab" && textContent === "Invoke");
    const note = () => { places.add(button.getBoundingClientRect().top); requestAnimationFrame(note); };
    note();`);
  await page.getByRole("list", { name: "Problems of the input" }).waitFor();
  // The line of the validation message is about 20 pixels high.
  expect(await page.evaluate("Math.max(...places) - Math.min(...places)")).toBeLessThan(4);
  await invoke.click();
  await page.getByRole("alert").getByText("The payload is not JSON").waitFor();
  await pasteIntoEditor(page, '{"item":"a","amount":1}');
  await page.getByRole("list", { name: "Problems of the input" }).getByText("/amount").waitFor();
  await page.getByRole("button", { name: "Invoke", exact: true }).click();
  await page.getByRole("button", { name: "Send anyway" }).click();
  await result(page).getByText("OK", { exact: true }).waitFor();
});

it("keeps typed input when the schema changes, and keeps a result with its function", async () => {
  const { page } = await open("/functions/orders::create?tab=invoke");
  await pasteIntoEditor(page, '{"item":"mine","amount":5}');
  const other = await system.worker("again");
  other.registerFunction("orders::create", (input) => input, {
    requestFormat: { type: "object", required: ["other"], properties: { other: { type: "boolean" } } },
  });
  const call = page.getByRole("button", { name: "Invoke", exact: true });
  await call.click();
  await page.getByRole("row").filter({ hasText: "echo" }).click();
  await page.getByRole("tab", { name: "Invoke" }).click();
  expect(await result(page).count()).toBe(0);
  await page.goBack();
  await page.locator(".cm-content").getByText("mine").waitFor();
  await other.shutdown();
});

it("calls without waiting, and enqueues a call", async () => {
  const { page } = await open("/functions/noted?tab=invoke", { document: "any" });
  await pasteIntoEditor(page, '{"by":"void"}');
  await page.getByLabel("Mode").selectOption({ label: "Fire and forget" });
  await page.getByRole("button", { name: "Invoke", exact: true }).click();
  await result(page).getByText("Sent", { exact: true }).waitFor();
  await expect.poll(() => noted).toEqual([{ by: "void" }]);

  await pasteIntoEditor(page, '{"by":"queue"}');
  await page.getByLabel("Mode").selectOption({ label: "Put on a queue" });
  await page.getByRole("textbox", { name: "Queue" }).fill("");
  await page.getByRole("button", { name: "Invoke", exact: true }).click();
  await page.getByRole("alert").getByText("Queue is required").waitFor();
  await page.getByRole("textbox", { name: "Queue" }).fill("default");
  await page.getByRole("button", { name: "Invoke", exact: true }).click();
  await result(page).getByText("Enqueued", { exact: true }).waitFor();
  await result(page)
    .getByText(/as job/)
    .waitFor();
  await expect.poll(() => noted).toEqual([{ by: "void" }, { by: "queue" }]);
  await result(page).getByRole("link", { name: "default" }).click();
  await page.waitForURL(/\/queues\/default/);
});

it("masks secrets on the page, in copies and in downloads, until they are revealed", async () => {
  const { page } = await open("/functions/keys?tab=invoke", { document: "any" });
  await page.getByRole("button", { name: "Invoke", exact: true }).click();
  await result(page).getByText('"ada"').waitFor();
  const copied = async (): Promise<unknown> =>
    JSON.parse(await copiedBy(result(page).getByRole("button", { name: "Copy the result" })));
  const downloaded = async (): Promise<unknown> => {
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      result(page).getByRole("button", { name: "Download" }).click(),
    ]);
    return JSON.parse(readFileSync(await download.path(), "utf8"));
  };
  const masked = { user: "ada", password: "***", inner: [{ api_key: "***" }] };
  const whole = { user: "ada", password: "hunter2", inner: [{ api_key: { live: "k-123" } }] };
  expect(await textOf(result(page))).not.toMatch(/hunter2|k-123/);
  await result(page).getByRole("button", { name: "Raw" }).click();
  expect(await textOf(result(page))).not.toMatch(/hunter2|k-123/);
  expect([await copied(), await downloaded()]).toEqual([masked, masked]);
  await result(page).getByRole("button", { name: "Reveal secrets" }).click();
  expect(await textOf(result(page))).toMatch(/hunter2[\s\S]*k-123/);
  expect([await copied(), await downloaded()]).toEqual([whole, whole]);
  await result(page).getByRole("button", { name: "Tree" }).click();
  await result(page).getByText('"hunter2"').waitFor();
  await result(page).getByRole("button", { name: "Reveal secrets" }).click();
  expect(await textOf(result(page))).not.toContain("hunter2");
});

it("disables calls in a read-only console, and says why", async () => {
  const readOnly = await startConsole({ engine: system.ports, args: ["--read-only"] });
  try {
    const { page, close } = await openLive(`${readOnly.url}/functions/noted?tab=invoke`);
    const before = noted.length;
    const call = page.getByRole("button", { name: "Invoke", exact: true });
    await expect.poll(() => call.getAttribute("title")).toMatch(/read-only/);
    expect(await call.isDisabled()).toBe(true);
    await page.locator(".cm-content").click();
    await page.keyboard.press("Control+Enter");
    await page.getByRole("tab", { name: "History" }).click();
    await page.getByRole("grid", { name: "Invocations" }).getByRole("row").nth(1).click();
    expect(await page.getByRole("button", { name: "Replay", exact: true }).isDisabled()).toBe(true);
    expect(noted).toHaveLength(before);
    await close();
  } finally {
    await readOnly.stop();
  }
});

it("cancels a call that never ends", async () => {
  const { page } = await open("/functions/never?tab=invoke", { document: "any" });
  await page.getByRole("button", { name: "Invoke", exact: true }).click();
  await page.getByRole("button", { name: "Cancel" }).click();
  await result(page).getByText("Cancelled").waitFor();
  await cancelled;
});

it("edits the same value in a form", async () => {
  const { page } = await open("/functions/orders::create?tab=invoke");
  await pasteIntoEditor(page, '{"item":"a","amount":3,"kept":9007199254740993}');
  await page.getByRole("button", { name: "Form" }).click();
  await page.getByLabel("amount").fill("77");
  await page.getByRole("button", { name: "Add size" }).click();
  await page.getByText("Also sent").waitFor();
  await page.getByRole("button", { name: "JSON", exact: true }).click();
  const text = await textOf(page.locator(".cm-content"));
  expect(JSON.parse(text)).toEqual({ item: "a", amount: 77, kept: 9007199254740992, size: "m" });
  expect(text).toContain("9007199254740993");
});

it("saves an input as a template", async () => {
  const { page } = await open("/functions/echo?tab=invoke", { document: "any" });
  await pasteIntoEditor(page, '{"n":9007199254740993}');
  await page.getByRole("button", { name: "Templates…" }).click();
  await page.getByLabel("Name").fill("the big one");
  await page.getByRole("button", { name: "Save the input" }).click();
  await page.getByRole("button", { name: "the big one", exact: true }).waitFor();
  await page.reload();
  await page.getByRole("button", { name: "Templates…" }).click();
  await page.getByRole("button", { name: "the big one", exact: true }).click();
  await page.locator(".cm-content").getByText("9007199254740993").waitFor();
});

it("is accessible and fits the window in both themes, wide and narrow", async () => {
  const { page } = await open("/functions");
  for (const path of [
    "/functions",
    "/functions/orders::create",
    "/functions/orders::create?tab=invoke",
    "/functions/orders::create?tab=schema",
    "/functions/echo?tab=history",
  ]) {
    await visit(page, path);
    const shown = page
      .getByText("orders::create")
      .first()
      .or(page.getByRole("heading", { name: "echo" }))
      .first();
    await shown.waitFor();
    await checkAccessibility(page, path, async () => {
      await shown.waitFor();
      if (path.includes("invoke")) await page.locator(".cm-content").waitFor();
    });
  }
});

it("says so if a function is not registered, and keeps the list while the engine is unreachable", async () => {
  const { page } = await open("/functions/no::such?tab=overview", { expected: [/./] });
  await page.getByText("No live worker provides this function").waitFor();
  await page.getByRole("navigation", { name: "Breadcrumb" }).getByText("no::such").waitFor();
  await system.killEngine();
  await page.getByRole("button", { name: "Close" }).click();
  await page.getByRole("row").filter({ hasText: "orders::create" }).click();
  await page.getByRole("tab", { name: "Invoke" }).click();
  const call = page.getByRole("button", { name: "Invoke", exact: true });
  await expect.poll(() => call.isDisabled()).toBe(true);
  await system.startEngine();
  await expect.poll(() => call.isDisabled(), { timeout: 30_000 }).toBe(false);
});
