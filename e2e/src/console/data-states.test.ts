import type { Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { consoleOfFile, standInOfFile, systemOfFile } from "./support/of-file.ts";
import { live, openPage, type WatchedPage } from "./support/watched-page.ts";

const CONFIG = `workers:
  - name: svc-http
  - name: svc-state
  - name: svc-stream
  - name: svc-cron
  - name: svc-event
  - name: svc-queue
    config: {queue_configs: {emails: {}}}
`;
/** Browser messages about failed responses and broken sockets; the tests cause both. */
const BROKEN = [/Failed to load resource/, /WebSocket connection/];

/** List of a page: where its data comes from and what it shows. */
interface List {
  readonly path: string;
  /** Function that returns it, or stream that it follows. */
  readonly source: { readonly call: string; readonly nothing: object } | { readonly stream: string };
  /** Text of the list with the data of these tests. */
  readonly shows: string;
  readonly emptyTitle: string;
  /** Query that matches nothing; undefined for a list without a filter. */
  readonly fitsNothing: string | undefined;
}

const NO_PAGE = { cursor: null, next_cursor: null, total: 0 };

const LISTS: readonly List[] = [
  {
    path: "/workers",
    source: { stream: "svc.workers" },
    shows: "bookkeeper",
    emptyTitle: "No worker is connected",
    fitsNothing: "q=zzz",
  },
  {
    path: "/functions",
    source: { stream: "svc.functions" },
    shows: "books::add",
    emptyTitle: "No functions",
    fitsNothing: "q=zzz",
  },
  {
    path: "/triggers",
    source: { stream: "svc.triggers" },
    shows: "/books",
    emptyTitle: "No trigger is registered",
    fitsNothing: "q=zzz&type=http",
  },
  {
    path: "/states",
    source: { call: "state::groups", nothing: { ...NO_PAGE, items: [] } },
    shows: "shelves",
    emptyTitle: "Nothing is stored",
    fitsNothing: "gq=zzz",
  },
  {
    path: "/states/shelves",
    source: { call: "state::entries", nothing: { ...NO_PAGE, items: [] } },
    shows: "top",
    emptyTitle: "This group is empty",
    fitsNothing: "q=zzz",
  },
  {
    path: "/streams",
    source: { call: "engine::streams::list", nothing: { streams: [] } },
    shows: "chapters",
    emptyTitle: "No stream has items",
    fitsNothing: "q=zzz",
  },
  {
    path: "/functions/books::add?tab=history",
    source: { call: "engine::invocations::list", nothing: { ...NO_PAGE, invocations: [] } },
    shows: "1 stored",
    emptyTitle: "No calls stored",
    fitsNothing: "status=cancelled",
  },
  {
    path: "/queues/emails?tab=delayed",
    source: { call: "queue::peek", nothing: { ...NO_PAGE, jobs: [] } },
    shows: "a lent book",
    emptyTitle: "No delayed jobs",
    fitsNothing: undefined,
  },
  {
    path: "/queues",
    source: { call: "queue::list", nothing: { queues: [] } },
    shows: "emails",
    emptyTitle: "No queues",
    fitsNothing: "q=zzz",
  },
  {
    path: "/traces",
    source: { call: "engine::traces::list", nothing: { ...NO_PAGE, spans: [] } },
    shows: "books::add",
    emptyTitle: "No traces yet",
    fitsNothing: "service=zzz",
  },
  {
    path: "/logs",
    source: { call: "engine::logs::list", nothing: { ...NO_PAGE, logs: [] } },
    shows: "a book was added",
    emptyTitle: "No log entries yet",
    fitsNothing: "q=zzz",
  },
  {
    path: "/",
    source: { call: "engine::traces::list", nothing: { ...NO_PAGE, spans: [] } },
    shows: "books::add",
    emptyTitle: "No calls in this time range",
    fitsNothing: undefined,
  },
];

const system = systemOfFile({ config: CONFIG });
const engine = standInOfFile(system);
const console = consoleOfFile(() => ({ engine: engine.ports }));

beforeAll(async () => {
  const worker = await system.worker("bookkeeper");
  worker.registerFunction("books::add", () => 1);
  await worker.registerTrigger({
    type: "http",
    function_id: "books::add",
    config: { api_path: "/books", http_method: "POST" },
  }).registered;
  await worker.call({ function_id: "books::add" });
  await worker.call({
    function_id: "queue::enqueue",
    payload: { queue: "emails", function_id: "books::add", data: "a lent book", delay_ms: 3_600_000 },
  });
  await worker.call({ function_id: "state::set", payload: { scope: "shelves", key: "top", value: 1 } });
  await worker.call({
    function_id: "stream::set",
    payload: { stream_name: "chapters", group_id: "one", item_id: "1", data: {} },
  });
  await worker.call({ function_id: "engine::log::info", payload: { message: "a book was added" } });
});

const open = (path: string): Promise<WatchedPage> => openPage(`${console.url}${path}`, { expected: BROKEN });
/** Log entries also arrive live. */
function noneLive(path: string): void {
  if (path === "/logs") engine.stream("svc.logs", { kind: "items", items: [] });
}
const content = (page: Page) => page.locator("#content");
const shown = (page: Page, { shows }: List) => content(page).getByText(shows).first();

describe.each(LISTS.map((list) => [list.path, list] as const))("%s", (path, list) => {
  const { source, emptyTitle, fitsNothing } = list;

  it("shows a loading state until the response arrives, and no empty state meanwhile", async () => {
    let arrive = (): void => engine.asIs();
    if ("call" in source) arrive = engine.delay(source.call);
    else engine.stream(source.stream, { kind: "hold" });
    noneLive(path);
    const { page } = await open(path);
    await live(page);
    await content(page).getByRole("status", { name: "Loading" }).first().waitFor();
    expect(await content(page).getByText(emptyTitle).count()).toBe(0);
    arrive();
    await shown(page, list).waitFor();
  });

  it("shows an empty state if there is no data", async () => {
    if ("call" in source) engine.answer(source.call, () => source.nothing);
    noneLive(path);
    if ("stream" in source) engine.stream(source.stream, { kind: "items", items: [] });
    const { page } = await open(path);
    await content(page).getByText(emptyTitle).waitFor();
  });

  if (fitsNothing !== undefined)
    it("distinguishes filters that match nothing from no data, and clears them", async () => {
      const { page } = await open(`${path}${path.includes("?") ? "&" : "?"}${fitsNothing}`);
      await content(page).getByText("Nothing matches").waitFor();
      expect(await content(page).getByText(emptyTitle).count()).toBe(0);
      await page.getByRole("button", { name: "Clear the filters" }).click();
      await shown(page, list).waitFor();
      expect(new URL(page.url()).search).not.toContain(fitsNothing);
    });

  it("shows an error with its message in place of the data, and recovers", async () => {
    if ("call" in source) engine.fail(source.call, "storage_failed", "the disk has gone for a walk");
    else engine.stream(source.stream, { kind: "refuse" });
    const { page } = await open(path);
    // A region that also gets the data elsewhere only says that it is out of date.
    const alert = content(page)
      .getByRole("alert")
      .filter({ hasText: "call" in source ? "storage_failed" : "" })
      .first();
    await alert.getByText("call" in source ? "the disk has gone for a walk" : "you may not join it today").waitFor();
    expect(await content(page).getByText(emptyTitle).count()).toBe(0);
    engine.asIs();
    // A stream is joined again automatically; the code that made a failed call repeats it.
    if ("call" in source) {
      const retry = content(page).getByRole("button", { name: "Try again" }).first();
      await retry.or(shown(page, list)).first().waitFor();
      if (await retry.isVisible()) await retry.click();
    }
    await shown(page, list).waitFor({ timeout: 20_000 });
  });

  it("keeps its data while the engine is disconnected, and updates when it is back", async () => {
    const { page } = await open(path);
    await live(page);
    await shown(page, list).waitFor();
    await engine.goAway();
    await page.getByRole("alert").filter({ hasText: "The engine cannot be reached" }).waitFor();
    await shown(page, list).waitFor();
    const asked = "call" in source ? engine.asked(source.call) : 0;
    engine.beAnother(`another-${path}`);
    await engine.comeBack();
    await live(page);
    await page.getByText("The engine was restarted at").waitFor();
    await shown(page, list).waitFor();
    if ("call" in source) await expect.poll(() => engine.asked(source.call)).toBeGreaterThan(asked);
  });
});

it("/traces continues a partial search, and shows neither an empty state nor a total meanwhile", async () => {
  let rest: unknown;
  engine.answer("engine::traces::list", async (payload, real) => {
    const { cursor, trace_ids } = payload as { readonly cursor?: string; readonly trace_ids?: readonly string[] };
    if (cursor === "from there") return rest;
    const answer = (await real()) as object;
    if (trace_ids !== undefined) return answer;
    rest = answer;
    return { ...answer, spans: [], cursor: "from there", partial: true, total_is_lower_bound: true };
  });
  const { page } = await open("/traces?q=books");
  const searchOn = content(page).getByRole("button", { name: "Continue search" });
  await searchOn.waitFor();
  const row = content(page).getByRole("row").filter({ hasText: "books::add" });
  for (const none of [content(page).getByText(/No traces yet|Nothing matches/), row])
    expect(await none.count()).toBe(0);
  await searchOn.click();
  await row.first().waitFor();
  await searchOn.waitFor({ state: "detached" });
});

it.each([
  ["/states/shelves/top", ["Add item", "Import", "Delete the item"]],
  ["/queues/emails", ["Pause"]],
  ["/functions/books::add?tab=invoke", ["Invoke"]],
] as const)(
  "%s disables what changes something while the engine is disconnected, and says why",
  async (path, names) => {
    const { page } = await open(path);
    await live(page);
    for (const name of names)
      await expect.poll(() => content(page).getByRole("button", { name, exact: true }).first().isEnabled()).toBe(true);
    await engine.goAway();
    await page.getByRole("alert").filter({ hasText: "The engine cannot be reached" }).waitFor();
    for (const name of names) {
      const button = content(page).getByRole("button", { name, exact: true }).first();
      expect(await button.isDisabled()).toBe(true);
      expect(await button.getAttribute("title")).toBe("The engine cannot be reached");
    }
    await engine.comeBack();
    await live(page);
    for (const name of names)
      await expect.poll(() => content(page).getByRole("button", { name, exact: true }).first().isEnabled()).toBe(true);
  },
);
