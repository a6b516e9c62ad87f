import type { Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { type Console, spawnConsole, startConsole } from "./support/console-process.ts";
import { consoleOfFile, standInOfFile, systemOfFile } from "./support/of-file.ts";
import { checkEach, visit } from "./support/visit.ts";
import { live, loaded, openPage, type PageOptions, type WatchedPage } from "./support/watched-page.ts";

/** Browser messages about failed responses and broken sockets, which these tests cause. */
const BROKEN = [/Failed to load resource/, /WebSocket connection/];
const NASTY = '<img src=x onerror="document.title=1">/..%2f&?#';

/** Each page with a text that it shows for the data of these tests. */
const PAGES = [
  ["/flow", "books::add"],
  ["/config", "Versions"],
  ["/", "Latest errors"],
  ["/workers", "bookkeeper"],
  ["/nodes", "This engine"],
  ["/functions", "books::add"],
  ["/triggers", "/books"],
  ["/states", "shelves"],
  ["/streams", "chapters"],
  ["/queues", "audit"],
  ["/traces", "books::add"],
  ["/logs", "a book was added"],
  ["/metrics", "svc.queue.waiting"],
  ["/query", "slow traces with a failed span"],
] as const;

const CONFIG = `workers:
  - name: svc-http
  - name: svc-state
  - name: svc-stream
  - name: svc-cron
  - name: svc-event
  - name: svc-queue
    config: {queue_configs: {emails: {}}}
`;

const system = systemOfFile({ config: CONFIG });
const engine = standInOfFile(system);
const console = consoleOfFile(() => ({ engine: engine.ports, args: ["--enable-flow"] }));
const readOnly = consoleOfFile(() => ({ engine: system.ports, args: ["--enable-flow", "--read-only"] }));
/** Ids that only the running system knows. */
let facts: Readonly<Record<string, string>>;

beforeAll(async () => {
  const worker = await system.worker("bookkeeper");
  worker.registerFunction("books::add", () => 1);
  await worker.registerTrigger({
    type: "http",
    function_id: "books::add",
    config: { api_path: "/books", http_method: "POST" },
  }).registered;
  await worker.registerTrigger({ type: "durable:subscriber", function_id: "books::add", config: { topic: "audit" } })
    .registered;
  await worker.registerTrigger({ type: "cron", function_id: "books::add", config: { expression: "0 0 5 1 1 *" } })
    .registered;
  await worker.call({ function_id: "books::add" });
  await worker.call({ function_id: "state::set", payload: { scope: "shelves", key: "top", value: 1 } });
  await worker.call({ function_id: "state::set", payload: { scope: NASTY, key: NASTY, value: NASTY } });
  await worker.call({
    function_id: "stream::set",
    payload: { stream_name: "chapters", group_id: "one", item_id: "1", data: {} },
  });
  await worker.call({ function_id: "engine::log::info", payload: { message: "a book was added" } });
  const ask = <Answer>(functionId: string, payload: object): Promise<Answer> =>
    worker.call({ function_id: functionId, payload }) as Promise<Answer>;
  const { registered_triggers: triggers } = await ask<{ registered_triggers: { id: string; trigger_type: string }[] }>(
    "engine::registered-triggers::list",
    {},
  );
  const { invocations } = await ask<{ invocations: { invocation_id: string }[] }>("engine::invocations::list", {
    function_id: "books::add",
  });
  const { job_id } = await ask<{ job_id: string }>("queue::enqueue", {
    queue: "emails",
    function_id: "books::add",
    data: 1,
    delay_ms: 3_600_000,
  });
  facts = {
    ...Object.fromEntries(triggers.map(({ id, trigger_type }) => [trigger_type, id])),
    call: invocations[0]?.invocation_id ?? "",
    job: job_id,
  };
});

const open = (path: string, of: Console = console, options: PageOptions = {}): Promise<WatchedPage> =>
  openPage(`${of.url}${path}`, { expected: BROKEN, ...options });

const content = (page: Page) => page.locator("#content");
const away = (page: Page) => page.getByRole("alert").filter({ hasText: "The engine cannot be reached" });

describe.each(PAGES)("%s", (path, shows) => {
  it("opened without an engine says what is unreachable and retries, and fills when the engine comes up", async () => {
    await engine.goAway();
    const { page } = await open(path, console, { document: "new" });
    await away(page)
      .filter({ hasText: `127.0.0.1:${engine.ports.bridge}` })
      .waitFor();
    expect(await away(page).textContent()).not.toContain("The data shown is from");
    await page.getByRole("heading", { level: 1 }).waitFor();
    if (path !== "/config") {
      const { bridge, realtime } = engine.ports;
      const state = content(page).getByRole("alert");
      await state.getByText(`The engine is unreachable at 127.0.0.1:${bridge} and 127.0.0.1:${realtime}`).waitFor();
      await state.getByText(`ws://127.0.0.1:${bridge}`).waitFor();
      const tried = page.waitForResponse((response) => response.url().endsWith("/api/probes"));
      await state.getByRole("button", { name: "Retry" }).click();
      expect((await tried).request().method()).toBe("POST");
      expect(await content(page).getByRole("status", { name: "Loading" }).count()).toBe(0);
      expect(await content(page).textContent()).not.toMatch(/collecting|All0/);
    }
    expect(
      await content(page)
        .getByText(
          /^(?:No .* is (?:connected|registered)|Nothing is stored|There is no queue|No traces yet|There are no log entries yet)/,
        )
        .count(),
    ).toBe(0);
    await engine.comeBack();
    await live(page);
    await content(page).getByText(shows).first().waitFor();
    // A first connection is not a restart.
    expect(await page.getByText("The engine was restarted at").count()).toBe(0);
  });
});

it("every page ignores unknown parameters in its address, says so, and shows the rest", async () => {
  const { page } = await open("/");
  await live(page);
  await checkEach(
    PAGES,
    ([path]) => path,
    async ([path, shows]) => {
      await visit(page, `${path}?nonsense=1&dir=sideways&range=%00&level=%7B%7D&size=7&type=%5B%5D`);
      await page.getByText("in the address").getByText("nonsense").waitFor();
      await content(page).getByText(shows).first().waitFor();
      await loaded(page);
      expect(await content(page).getByText("This content failed to load").count()).toBe(0);
    },
  );
});

it("every page shows an id with markup and slashes as text", async () => {
  const { page } = await open("/");
  await live(page);
  await checkEach(
    ["workers", "functions", "triggers", "states", "streams", "queues", "traces", "logs"],
    (name) => name,
    async (name) => {
      await visit(page, `/${name}/${encodeURIComponent(NASTY)}`);
      await page.getByRole("heading", { level: 1 }).waitFor();
      await content(page).getByText("onerror=").first().waitFor();
      expect(await page.locator('img[src="x"]').count()).toBe(0);
    },
  );
});

it("shows values with markup as text, from the list to the item", async () => {
  const { page } = await open("/states");
  await page.getByRole("grid", { name: "Groups" }).getByText(NASTY).click();
  await page
    .getByRole("grid", { name: `Items of ${NASTY}` })
    .getByText(NASTY)
    .first()
    .click();
  await page.getByRole("button", { name: "Delete the item" }).waitFor();
  await page.reload();
  await page.getByRole("button", { name: "Delete the item" }).waitFor();
  expect(await page.locator('img[src="x"]').count()).toBe(0);
});

it("recovers after every connection broke, and keeps the state of the page", async () => {
  const { page } = await open("/workers?q=bookkeeper");
  await live(page);
  await page.getByRole("row").filter({ hasText: "bookkeeper" }).click();
  await page.getByRole("tab", { name: /Functions/ }).click();
  engine.drop();
  await away(page).waitFor();
  await live(page);
  await page.getByRole("tab", { name: /Functions/, selected: true }).waitFor();
  expect(await page.getByText("The engine was restarted at").count()).toBe(0);
});

it("names the port that is wrong", async () => {
  const wrong = await startConsole({ engine: { ...system.ports, realtime: 1 } });
  const { page } = await open("/workers", wrong);
  const bar = away(page).filter({ hasText: "127.0.0.1:1 (WebSocket server: nothing listens there)" });
  await bar.waitFor();
  expect(await bar.textContent()).not.toContain(String(system.ports.bridge));
  await content(page).getByText("The engine is unreachable at 127.0.0.1:1", { exact: true }).waitFor();
  await wrong.stop();
});

it("recovers on a page whose console was restarted, while the engine was disconnected", async () => {
  const own = await spawnConsole({ engine: engine.ports });
  const { page } = await open("/queues", own);
  await live(page);
  await content(page).getByText("audit").first().waitFor();
  await own.stop("SIGKILL");
  await page.getByRole("alert").filter({ hasText: "The console's server cannot be reached" }).waitFor();
  await engine.goAway();
  const next = await startConsole({ engine: engine.ports, port: Number(new URL(own.url).port) });
  await away(page).waitFor({ timeout: 20_000 });
  await content(page).getByText("audit").first().waitFor();
  await engine.comeBack();
  await live(page);
  await next.stop();
});

it("does not repeat a slow request, and allows leaving the page meanwhile", async () => {
  const arrive = engine.delay("state::groups");
  const { page } = await open("/states");
  await content(page).getByRole("status", { name: "Loading" }).first().waitFor();
  await page.getByRole("link", { name: "Queues", exact: true }).click();
  await content(page).getByText("audit").first().waitFor();
  arrive();
  await page.goBack();
  await content(page).getByText("shelves").first().waitFor();
});

/** Each place that changes something, with its buttons; names of `facts` in braces. */
const WRITERS: readonly (readonly [path: string, buttons: readonly string[]])[] = [
  ["/states/shelves/top", ["Add item", "Import", "Delete the item"]],
  ["/states/shelves/top?tab=edit", ["Save …"]],
  ["/functions/books::add?tab=invoke", ["Invoke"]],
  ["/functions/books::add?inv={call}", ["Replay"]],
  ["/triggers/{http}", ["Send"]],
  ["/triggers/{cron}", ["Trigger Now"]],
  ["/triggers/{durable:subscriber}", ["Publish"]],
  ["/queues/emails", ["Pause", "Purge"]],
  ["/queues/emails?tab=enqueue", ["Enqueue"]],
  ["/queues/emails?job={job}", ["Cancel the job …"]],
  ["/logs", ["Delete stored logs"]],
  ["/flow", ["Reset layout"]],
  ["/config?section=storage", ["Delete all traces", "Delete all log entries"]],
  ["/config?section=alerts", ["New alert"]],
];

describe("a read-only console", () => {
  it("disables what changes something, and says why", async () => {
    const { page } = await open("/", readOnly);
    await live(page);
    await checkEach(
      WRITERS,
      ([path]) => path,
      async ([path, names]) => {
        await visit(
          page,
          path.replace(/\{([\w:]+)\}/g, (_, name: string) => encodeURIComponent(facts[name] ?? name)),
        );
        for (const name of names) {
          const button = content(page).getByRole("button", { name, exact: true }).first();
          await button.and(page.locator(":disabled")).waitFor();
          expect(await button.getAttribute("title")).toContain("read-only");
        }
      },
    );
  });

  it("rejects a change on the server, too", async () => {
    const { page } = await open("/workers", readOnly);
    for (const [path, body] of [
      ["/api/call", { function_id: "state::set", payload: { scope: "shelves", key: "top", value: 2 } }],
      ["/api/call", { function_id: "books::add", payload: {} }],
      ["/_console/invoke", { function_id: "books::add", payload: {} }],
      ["/api/http-request", { method: "POST", path: "/books", headers: [] }],
    ] as const) {
      const answer = await page.evaluate(
        `fetch(${JSON.stringify(path)}, {
        method: "POST",
        headers: { "content-type": "application/json", "x-svc-console": document.querySelector('meta[name="svc-page-token"]').content },
        body: ${JSON.stringify(JSON.stringify(body))},
      }).then(async (response) => [response.status, (await response.json()).error.code])`,
      );
      expect(answer, `${path} ${JSON.stringify(body)}`).toEqual([403, "read_only"]);
    }
  });
});

describe("a dialog that is open when the engine disconnects", () => {
  it.each([
    ["/queues/emails?job={job}", "Cancel the job …", "Cancel the job", undefined],
    ["/states/shelves/top", "Delete the item", "Delete", undefined],
    ["/logs", "Delete stored logs", "Delete all log entries", "delete logs"],
  ])("is disabled until it is back, and says why: %s", async (path, opener, action, typed) => {
    const { page } = await open(path.replace("{job}", facts.job ?? ""));
    await live(page);
    await content(page).getByRole("button", { name: opener, exact: true }).click();
    const dialog = page.getByRole("dialog");
    if (typed !== undefined) await dialog.getByRole("textbox").fill(typed);
    const confirm = dialog.getByRole("button", { name: action });
    await confirm.and(page.locator(":enabled")).waitFor();
    await engine.goAway();
    await confirm.and(page.locator(":disabled")).waitFor();
    await dialog.getByText("The engine cannot be reached").waitFor();
    await engine.comeBack();
    await confirm.and(page.locator(":enabled")).waitFor();
    expect(await dialog.getByText("The engine cannot be reached").count()).toBe(0);
  });
});

describe("code of a page that fails to load", () => {
  it("is loaded again by Try again, which keeps the page while the console is down", async () => {
    const own = await spawnConsole({ engine: engine.ports });
    const { page } = await open("/workers", own, { expected: [...BROKEN, /LoadFailure/] });
    await live(page);
    await page.route(/\/assets\/queues-page/, (route) => route.abort());
    await page.getByRole("link", { name: "Queues", exact: true }).click();
    const failure = content(page).getByRole("alert");
    await failure.filter({ hasText: "the code of this page could not be loaded" }).waitFor();
    await own.stop("SIGKILL");
    await failure.getByRole("button", { name: "Try again" }).click();
    await failure.filter({ hasText: "the console's server cannot be reached" }).waitFor();
    const next = await startConsole({ engine: engine.ports, port: Number(new URL(own.url).port) });
    await page.unroute(/\/assets\/queues-page/);
    await failure.getByRole("button", { name: "Try again" }).click();
    await content(page).getByText("audit").first().waitFor();
    await next.stop();
  });
});
