import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { http } from "@svc-runtime/sdk";
import type { Locator, Page } from "playwright-core";
import { beforeAll, expect, it } from "vitest";
import { checkAccessibility } from "./support/axe.ts";
import { copiedBy } from "./support/clipboard.ts";
import { tabTo } from "./support/keyboard.ts";
import { systemOfFile } from "./support/of-file.ts";
import { checkEach, visit } from "./support/visit.ts";
import { openLive, type PageOptions, type WatchedPage } from "./support/watched-page.ts";

const system = systemOfFile();
/** Invalid UTF-8, with a readable name in the middle. */
const BYTES = Buffer.concat([
  Buffer.from([0, 1, 2, 255, 254, 13, 10]),
  Buffer.from("<b>svc</b>"),
  Buffer.alloc(40, 0x80),
]);
const mails: unknown[] = [];
let reports = 0;

beforeAll(async () => {
  const worker = await system.worker("orders");
  worker.registerFunction("http::order", (request: { path_params: object; query: object; body: unknown }) => ({
    status_code: 201,
    headers: { "x-made": "yes" },
    body: { path: request.path_params, query: request.query, body: request.body },
  }));
  worker.registerFunction("http::empty", () => ({ status_code: 204 }));
  worker.registerFunction("http::boom", () => ({
    status_code: 500,
    headers: { "content-type": "text/plain" },
    body: "it broke",
  }));
  worker.registerFunction(
    "http::bytes",
    http(async (_request, response) => {
      response.headers({ "content-type": "application/octet-stream" });
      await response.write(BYTES);
    }),
  );
  worker.registerFunction("http::big", () => ({
    status_code: 200,
    headers: { "content-type": "text/plain" },
    body: "x".repeat(5 * 1024 * 1024),
  }));
  worker.registerFunction("http::slow", () => new Promise(() => {}));
  worker.registerFunction("cron::report", () => ++reports);
  worker.registerFunction("events::mail", (event) => mails.push(event), {
    requestFormat: { type: "object", required: ["to"], properties: { to: { type: "string" } } },
  });
  worker.registerFunction("jobs::run", () => null);
  const bind = (type: string, function_id: string, config: object) =>
    worker.registerTrigger({ type, function_id, config } as Parameters<typeof worker.registerTrigger>[0]).registered;
  await bind("http", "http::order", { api_path: "/orders/:id2", http_method: "POST" });
  await bind("http", "http::empty", { api_path: "/empty", http_method: "DELETE", description: "Says nothing" });
  await bind("http", "http::boom", { api_path: "/boom" });
  await bind("http", "http::slow", { api_path: "/slow" });
  await bind("http", "http::bytes", { api_path: "/bytes" });
  await bind("http", "http::big", { api_path: "/big" });
  await bind("http", "http::empty", { api_path: "/orders/:other", http_method: "POST" });
  await bind("cron", "cron::report", { expression: "0 0 9 * * 1", timezone: "Europe/Berlin" });
  await bind("event", "events::mail", { topic: "user.created" });
  await bind("queue", "jobs::run", { queue: "default" });
  await bind("state", "jobs::run", { scope: "math", key: "total" });
});

/** Opens a page in any document: only tests that use the same HTTP trigger, or check all that is shown, need a new one. */
const open = (path: string, options: PageOptions = {}): Promise<WatchedPage> =>
  openLive(`${system.console.url}${path}`, { document: "any", ...options });

/** Opens a trigger by clicking the left end of its row; the middle contains the link to its function. */
async function choose(page: Page, text: string): Promise<void> {
  await page
    .getByRole("row")
    .filter({ hasText: text })
    .first()
    .click({ position: { x: 30, y: 10 } });
  await page.waitForURL(/triggers\/[\w-]+/);
}

const textOf = async (locator: Locator): Promise<string> => (await locator.textContent()) ?? "";
const response = (page: Page) => page.getByRole("region", { name: "Response" });

it("shows as many triggers of each kind as its tab counts, keeps the tab in the address, and shows why a trigger has an error", async () => {
  const { page } = await open("/triggers");
  await page.getByRole("row").filter({ hasText: "/boom" }).waitFor();
  for (const [name, count] of [
    ["HTTP", 7],
    ["CRON", 1],
    ["QUEUE", 1],
    ["Event", 1],
    ["State", 1],
  ] as const) {
    await page
      .getByRole("button", { name: `${name} ${count}`, exact: true })
      .first()
      .click();
    await page.waitForURL(new RegExp(`type=${name.toLowerCase()}`));
    await expect.poll(() => page.getByRole("grid").locator("[aria-selected]").count()).toBe(count);
  }
  expect(await page.getByRole("button", { name: /^Other/ }).isDisabled()).toBe(true);
  await visit(page, "/triggers?type=http&q=other");
  await choose(page, "/orders/:other");
  await page.getByText("route taken by http::order").waitFor();
});

it("shows the description of a trigger, and finds it by that", async () => {
  const { page } = await open("/triggers?q=says");
  await choose(page, "/empty");
  await page.getByText("Says nothing", { exact: true }).waitFor();
});

it("sends a request with path, query and body, and shows status, headers and body", async () => {
  const { page } = await open("/triggers?type=http&q=id2", { document: "new" });
  await choose(page, "/orders/:id2");
  await page.getByRole("textbox", { name: ":id2" }).fill("a b?c#ä");
  for (const value of ["1", "2"]) {
    await page.getByRole("button", { name: "Add a query parameter" }).click();
    await page.getByLabel("Name of the query parameter").last().fill("x");
    await page.getByLabel("Value of the query parameter").last().fill(value);
  }
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText('{"n":4711}');
  await page.keyboard.press("Control+Enter");
  await response(page).getByText("201 Created").waitFor();
  const text = await textOf(response(page));
  for (const part of ["a b?c#ä", "4711", "x-made"]) expect(text.toLowerCase()).toContain(part);
  expect(text).toMatch(/"x":[\s\S]*"1"[\s\S]*"2"/);
});

it("sends a request with the keyboard alone, from the list to the response and back", async () => {
  const { page } = await open("/triggers?type=http&q=id2", { document: "new" });
  await page.getByRole("row").filter({ hasText: "/orders/:id2" }).waitFor();
  const grid = page.getByRole("grid", { name: "Triggers" });
  await tabTo(page, grid);
  await page.keyboard.press("ArrowDown");
  await page.waitForURL(/triggers\/[\w-]+/);
  await tabTo(page, page.getByRole("textbox", { name: ":id2" }));
  await page.keyboard.type("seven");
  await tabTo(page, page.getByRole("button", { name: "Add a query parameter" }));
  await page.keyboard.press("Enter");
  await tabTo(page, page.getByLabel("Name of the query parameter 1"));
  await page.keyboard.type("colour");
  await page.keyboard.press("Tab");
  await page.keyboard.type("green");
  await tabTo(page, page.locator(".cm-content"));
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText('{"n":4711}');
  // In the editor, Tab indents; Control+M makes it move the focus.
  await page.keyboard.press("Control+m");
  await tabTo(page, page.getByRole("button", { name: "Send", exact: true }));
  await page.keyboard.press("Enter");
  await response(page).getByText("201 Created").waitFor();
  const text = await textOf(response(page));
  for (const part of ["seven", "colour", "green", "4711"]) expect(text).toContain(part);
  await page.keyboard.press("Escape");
  await page.waitForURL((url) => url.pathname === "/triggers");
});

it.each([
  ["/empty", "204 No Content", "No body."],
  ["/boom", "500 Internal Server Error", "it broke"],
])("shows the response of %s", async (path, status, body) => {
  const { page } = await open(`/triggers?type=http&q=${path.slice(1)}`);
  await choose(page, path);
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await response(page).getByText(status).waitFor();
  await response(page).getByText(body).waitFor();
});

it("shows binary bytes as a hex dump, and downloads them unchanged", async () => {
  const { page } = await open("/triggers?type=http&q=bytes");
  await choose(page, "/bytes");
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await response(page).getByText("00000000  00 01 02 ff fe 0d 0a 3c 62 3e").waitFor();
  expect(await textOf(response(page))).toContain("<b>svc</b");
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    response(page).getByRole("button", { name: "Download" }).click(),
  ]);
  expect(readFileSync(await download.path()).equals(BYTES)).toBe(true);
});

it("shows five megabytes only on request, and copies the request as a curl command", async () => {
  const { page } = await open("/triggers?type=http&q=big");
  await choose(page, "/big");
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await response(page).getByText("200 OK").waitFor();
  await response(page).getByText("Show it anyway").waitFor();
  const command = await copiedBy(page.getByRole("button", { name: "Copy as curl" }));
  const { stdout } = await promisify(execFile)("sh", ["-c", command], { maxBuffer: 16 * 1024 * 1024 });
  expect(stdout).toMatch(/^HTTP\/1.1 200/);
  expect(stdout).toContain("x".repeat(5 * 1024 * 1024));
});

it("shows the last run of a trigger, and links to its trace", async () => {
  await fetch(`http://localhost:${system.ports.http}/boom`);
  const { page } = await open("/triggers?type=http");
  const row = page.getByRole("row").filter({ hasText: "/boom" });
  await row.getByText(/ago|now/).waitFor({ timeout: 20_000 });
  // The runs of a queue trigger are on the queue's page; the list must not claim that there are none.
  await page.getByRole("button", { name: "QUEUE 1", exact: true }).first().click();
  await page.getByRole("row").filter({ hasText: "default" }).getByText("View queue").waitFor();
  await visit(page, "/triggers?type=http");
  await row.getByRole("link", { name: /ago|now/ }).click();
  await page.waitForURL(/\/traces\/[0-9a-f]{32}/);
});

const FILTERS = [
  ["q=created", ["user.created"], ["/boom"]],
  ["type=http", ["/boom"], ["user.created"]],
  ["type=cron", ["cron::report"], ["/boom"]],
  ["type=queue", ["jobs::run"], ["/boom", "math"]],
  ["type=event", ["user.created"], ["/boom"]],
  ["type=state", ["math"], ["/boom"]],
  ["type=other", [], ["/boom", "user.created"]],
  ["system=true", ["/boom"], []],
] as const;

it("opens with the filters of its address, also after a reload", async () => {
  const { page } = await open("/triggers?type=http&q=boom");
  const check = async (query: string, shown: readonly string[], hidden: readonly string[]): Promise<void> => {
    await page
      .getByTitle(/in total/)
      .first()
      .waitFor();
    for (const text of shown) await page.getByRole("row").filter({ hasText: text }).first().waitFor();
    for (const text of hidden) await expect.poll(() => page.getByRole("row").filter({ hasText: text }).count()).toBe(0);
    expect(new URL(page.url()).search).toBe(`?${query}`);
  };
  await check("type=http&q=boom", ["/boom"], ["user.created", "/slow"]);
  await page.reload();
  await check("type=http&q=boom", ["/boom"], ["user.created", "/slow"]);
  await checkEach(
    FILTERS,
    ([query]) => query,
    async ([query, shown, hidden]) => {
      await visit(page, `/triggers?${query}`);
      await check(query, shown, hidden);
    },
  );
});

it("shows that a trigger is not found, and leads back to the list by its heading", async () => {
  const { page } = await open("/triggers/nope?type=http");
  await page.getByText("Trigger not found").waitFor();
  await page.getByRole("navigation", { name: "Breadcrumb" }).getByRole("link", { name: "Triggers" }).click();
  await page.waitForURL((url) => url.pathname === "/triggers" && url.search === "?type=http");
});

it("pauses and resumes a schedule with the keyboard alone", async () => {
  const { page } = await open("/triggers?type=cron");
  await page.getByRole("grid", { name: "Triggers" }).focus();
  await page.keyboard.press("ArrowDown");
  await page.waitForURL(/triggers\/[\w-]+/);
  for (const [action, then] of [
    ["Pause the schedule", "Resume the schedule"],
    ["Resume the schedule", "Pause the schedule"],
  ] as const) {
    await page.getByRole("button", { name: action }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: then }).waitFor({ timeout: 20_000 });
  }
});

it("cancels a request that gets no response", async () => {
  const { page } = await open("/triggers?q=slow");
  await choose(page, "/slow");
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await page.getByRole("button", { name: "Cancel" }).click();
  await response(page).getByText("cancelled before the response").waitFor();
});

it("describes a schedule with its next runs, and runs it now; a second run needs confirmation", async () => {
  const { page } = await open("/triggers?type=cron");
  await choose(page, "Monday");
  await page.getByText("0 0 9 * * 1", { exact: true }).waitFor();
  await expect.poll(() => page.getByText("UTC").count()).toBeGreaterThan(0);
  await page.getByRole("heading", { name: "Next runs" }).waitFor();
  // The page's zone is UTC, so that the time in UTC is not repeated.
  const nextRun = page.getByRole("listitem").filter({ hasText: /, 0[78]:00:00/ });
  expect(await textOf(nextRun.first())).toMatch(/^\d+ \w+ \d{4}, 0[78]:00:00in \d/);
  await page.getByRole("button", { name: "Trigger Now" }).click();
  await page.getByText("The run ended:").waitFor();
  expect(reports).toBe(1);
  await page.getByText("manual").waitFor();
  await expect.poll(() => page.getByRole("dialog").count()).toBe(0);
  await page.getByRole("button", { name: "Trigger Now" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Trigger Now" }).click();
  await expect.poll(() => reports).toBe(2);
  await page.getByRole("link", { name: "Trace", exact: true }).first().click();
  await page.waitForURL(/\/traces\/[0-9a-f]{32}\/[0-9a-f]{16}/);
  await page.getByRole("region", { name: "cron cron::report" }).waitFor();
});

it("emits an event that reaches its subscriber", async () => {
  const { page } = await open("/triggers?type=event");
  await choose(page, "user.created");
  await page.getByRole("button", { name: "Form" }).click();
  await page.getByLabel("to", { exact: false }).first().waitFor();
  await page.locator("textarea").first().fill("ada@example.com");
  await page.getByRole("button", { name: "Emit" }).click();
  await page.getByText("1 trigger received it").waitFor();
  await expect.poll(() => mails).toEqual([{ to: "ada@example.com" }]);
});

it("enqueues a job, and links to the state item of a trigger", async () => {
  const { page } = await open("/triggers?type=queue");
  await choose(page, "default");
  await page.getByRole("button", { name: "Publish" }).click();
  await page.getByText("Enqueued as job").waitFor();
  await visit(page, "/triggers?type=state");
  await choose(page, "scope math");
  expect(await page.getByRole("link", { name: "Edit total in scope math" }).getAttribute("href")).toBe(
    "/states/math/total",
  );
});

it("is accessible and fits the window in both themes, wide and narrow", async () => {
  const { page } = await open("/triggers", { document: "new" });
  for (const [path, text] of [
    ["/triggers", undefined],
    ["/triggers?type=http", "/boom"],
    ["/triggers?type=cron", "Monday"],
    ["/triggers?type=event", "user.created"],
    ["/triggers?type=queue", "default"],
    ["/triggers?type=state", "scope math"],
  ] as const) {
    await visit(page, path);
    await page.getByRole("row").nth(2).waitFor();
    if (text !== undefined) {
      await choose(page, text);
      await page.getByRole("heading", { name: /Try it|Last runs/ }).waitFor();
      if (text === "user.created") await page.locator(".cm-content").waitFor();
    }
    await checkAccessibility(page, `${path} ${text}`);
  }
});
