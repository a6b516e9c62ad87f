import type { Locator, Page } from "playwright-core";
import { beforeAll, expect, it } from "vitest";
import { everyParameter, namedDeepLinks } from "./support/deep-links.ts";
import { systemOfFile } from "./support/of-file.ts";
import { checkEach, visit } from "./support/visit.ts";
import { openLive } from "./support/watched-page.ts";

const CONFIG = `workers:
  - name: svc-http
  - name: svc-state
  - name: svc-stream
  - name: svc-cron
  - name: svc-event
  - name: svc-queue
    config: {queue_configs: {emails: {}}}
`;
const MANY = 60;

const system = systemOfFile({ config: CONFIG, consoleArgs: ["--enable-flow"] });
/** Values that only the running system knows, by the name that represents them in an address. */
let facts: Readonly<Record<string, string>>;

beforeAll(async () => {
  const worker = await system.worker("reader");
  const other = await system.worker("writer");
  const ask = <Answer>(functionId: string, payload: object): Promise<Answer> =>
    worker.call({ function_id: functionId, payload }) as Promise<Answer>;
  worker.registerFunction("books::read", () => 1);
  worker.registerFunction("books::burn", () => {
    throw new Error("books do not burn");
  });
  worker.registerFunction("books::copy", async () => {
    await worker.call({
      function_id: "engine::log::info",
      payload: { message: "a line of the copy", service_name: "copier" },
    });
    return worker.call({ function_id: "notes::write", payload: {} });
  });
  other.registerFunction("notes::write", () => 1);
  const triggers = [
    worker.registerTrigger({
      type: "http",
      function_id: "books::read",
      config: { api_path: "/books", http_method: "GET" },
    }),
    worker.registerTrigger({ type: "cron", function_id: "books::read", config: { expression: "0 0 5 1 1 *" } }),
    worker.registerTrigger({ type: "durable:subscriber", function_id: "books::read", config: { topic: "audit" } }),
    other.registerTrigger({ type: "durable:subscriber", function_id: "notes::write", config: { topic: "billing" } }),
  ];
  await Promise.all(triggers.map(({ registered }) => registered));
  for (const scope of ["shelves", "cellar"]) {
    for (const key of ["top", "bottom"]) await ask("state::set", { scope, key, value: 1 });
  }
  // Before the calls, whose traces must be the newest.
  await Promise.all(
    Array.from({ length: MANY }, (_, at) =>
      ask("state::set", { scope: "many", key: `key-${String(at).padStart(2, "0")}`, value: at }),
    ),
  );
  await ask("books::read", {});
  await ask("books::burn", {}).catch(() => undefined);
  await ask("books::copy", {});
  await ask("notes::write", {});
  await fetch(`http://localhost:${system.ports.http}/books`);
  for (const [level, service_name] of [
    ["info", "shop"],
    ["error", "api"],
  ]) {
    await ask(`engine::log::${level}`, {
      message: `a line of ${service_name}`,
      service_name,
      data: { floor: level === "error" ? 2 : 1 },
    });
  }
  const { workers } = await ask<{ workers: { id: string; name: string }[] }>("engine::workers::list", {});
  const { logs } = await ask<{ logs: { body: string; trace_id: string; span_id: string }[] }>("engine::logs::list", {
    text: "a line of the copy",
  });
  const { spans } = await ask<{ spans: { trace_id: string }[] }>("engine::traces::list", { name: "books::burn" });
  const { invocations } = await ask<{ invocations: { invocation_id: string }[] }>("engine::invocations::list", {
    function_id: "books::read",
  });
  const { cursor } = await ask<{ cursor: string }>("state::entries", { scope: "many", limit: 50 });
  const { job_id } = await ask<{ job_id: string }>("queue::enqueue", {
    queue: "emails",
    function_id: "notes::write",
    data: "a delayed note",
    delay_ms: 3_600_000,
  });
  facts = {
    reader: workers.find(({ name }) => name === "reader")?.id ?? "",
    trace: logs[0]?.trace_id ?? "",
    span: logs[0]?.span_id ?? "",
    other: spans[0]?.trace_id ?? "",
    call: invocations[0]?.invocation_id ?? "",
    cursor,
    job: job_id,
  };
});

const content = (page: Page) => page.locator("#content");
const row = (page: Page, text: string) => content(page).getByRole("row").filter({ hasText: text });
const now = Date.now();

/** Something else that must be visible. */
type Sees = (page: Page) => Locator;
/** Address with names of `facts` in braces; texts of rows that are shown, and of rows that are not. */
type Link = readonly [address: string, shown: readonly string[], hidden: readonly string[], sees?: Sees];

const says =
  (text: string): Sees =>
  (page) =>
    content(page).getByText(text).first();
const pressed =
  (name: string): Sees =>
  (page) =>
    content(page).getByRole("button", { name, exact: true, pressed: true });
const checked =
  (name: string): Sees =>
  (page) =>
    content(page).getByRole("checkbox", { name, exact: true, checked: true });
const tab =
  (name: string | RegExp): Sees =>
  (page) =>
    content(page).getByRole("tab", { name, selected: true });
const sorted =
  (column: string, order: string): Sees =>
  (page) =>
    content(page).locator(`[role=columnheader][aria-sort=${order}]`).filter({ hasText: column });
const chosen =
  (name: string, value: string): Sees =>
  (page) =>
    content(page)
      .getByRole("combobox", { name, exact: true })
      .and(page.locator(`:has(option:checked[value="${value}"])`));
const range =
  (label: string): Sees =>
  (page) =>
    content(page).getByRole("button", { name: `Time range: ${label}` });
const chip =
  (name: string): Sees =>
  (page) =>
    content(page).getByLabel("Filters").getByText(name).first();
const search =
  (value: string): Sees =>
  (page) =>
    content(page).locator(`input[type=search][value="${value}"]`);

const LINKS: readonly Link[] = [
  ["/?range=1h", [], [], range("Last hour")],
  ["/?view=table", [], [], pressed("Table")],
  ["/workers?q=reader", ["reader"], ["writer"]],
  ["/workers?status=connected", ["reader", "writer"], ["svc-state"]],
  ["/workers?runtime=node", ["reader"], ["svc-state"]],
  ["/workers?system=true", ["reader", "svc-state"], []],
  ["/workers?sort=functions&dir=desc", ["reader", "writer"], [], sorted("Functions", "descending")],
  ["/workers/{reader}?tab=triggers", ["reader"], [], tab(/^Triggers/)],
  ["/functions?q=books", ["books::read"], ["notes::write"]],
  ["/functions?worker=writer", ["notes::write"], ["books::read"]],
  ["/functions?system=true&q=state%3A%3Aget", ["state::get"], ["books::read"]],
  ["/functions?group=worker", ["books::read", "notes::write"], [], pressed("By worker")],
  ["/functions/books::burn?tab=history&status=error", ["books::burn"], []],
  ["/functions/books::burn?tab=history&status=cancelled", [], [], says("No call has the status cancelled")],
  ["/functions/books::burn?tab=history&source=cron", [], [], says("No call has the source cron")],
  [
    "/functions/books::read?inv={call}",
    [],
    [],
    (page) =>
      content(page)
        .getByText(facts.call ?? "")
        .first(),
  ],
  ["/functions/books::read?inv={call}&original={call}", [], [], says("Replay of")],
  ["/triggers?q=billing", ["billing"], ["/books"]],
  ["/triggers?type=http", ["/books"], ["billing"]],
  ["/triggers?type=cron", ["books::read"], ["billing", "/books"]],
  ["/triggers?type=queue", ["billing", "audit"], ["/books"]],
  ["/triggers?system=true", ["/books"], [], checked("System")],
  ["/states?gq=shel", ["shelves"], ["cellar"]],
  ["/states?system=true", ["shelves", "cellar"], [], checked("System")],
  ["/states/shelves?q=to", ["top"], ["bottom"]],
  ["/states/many?size=50", ["key-00"], [], (page) => page.getByRole("button", { name: "Next page", disabled: false })],
  ["/states/many?cursor={cursor}", ["key-50", "key-59"], ["key-49"]],
  ["/states/shelves/top?tab=edit", [], [], tab("Edit")],
  ["/states?query=key%3Atop", ["top"], ["bottom"]],
  ["/streams?q=hello", [], [], search("hello")],
  ["/streams?system=true", [], [], checked("System streams")],
  ["/streams?events=true", [], [], checked("Connection events")],
  ["/streams?stream=chat", [], [], chosen("Stream", "chat")],
  ["/streams?group=room", [], [], chosen("Group", "room")],
  ["/streams?type=sync", [], [], chosen("Type", "sync")],
  ["/streams?dir=outbound", [], [], (page) => content(page).getByRole("button", { name: /^Outbound/, pressed: true })],
  ["/streams?sub=%5B%22chat%3Aroom%22%5D", [], [], (page) => page.getByLabel("Subscriptions").getByText("live")],
  ["/nodes?q=no-such-node", [], [], says("No node matches")],
  ["/metrics?q=queue%20waiting", ["svc.queue.waiting"], []],
  ["/metrics/svc.queue.waiting?labels=queue%3Dnone", [], [], says("No series has a label with")],
  ["/metrics/svc.queue.waiting?range=1h", [], [], range("Last hour")],
  [`/metrics/svc.queue.waiting?from=${now - 3_600_000}&to=${now - 3_500_000}`, [], [], says("no value")],
  ["/query?q=key%3Atop", ["top"], ["bottom"]],
  ["/query?q=shop&range=1h", ["a line of shop"], [], range("Last hour")],
  [`/query?q=shop&from=${now - 3_600_000}&to=${now - 3_500_000}`, [], ["a line of shop"], says("Logs: 0")],
  ["/queues?q=audit", ["audit"], ["billing"]],
  ["/queues/emails?tab=delayed", ["a delayed note"], [], tab(/^Delayed/)],
  [
    "/queues/emails?job={job}",
    [],
    [],
    (page) =>
      content(page)
        .getByText(facts.job ?? "")
        .first(),
  ],
  ["/traces?q=burn", ["books::burn"], ["books::read", "notes::write"]],
  ["/traces?status=error", ["books::burn"], ["books::read", "notes::write"]],
  ["/traces?status=ok", ["books::read", "notes::write"], ["books::burn"]],
  ["/traces?failed=true", ["books::burn"], ["books::read", "notes::write"], chip("with errors")],
  ["/traces?service=writer", ["notes::write"], ["books::read"]],
  ["/traces?fn=books%3A%3Aburn", ["books::burn"], ["notes::write"]],
  ["/traces?op=books%3A%3Aburn", ["books::burn"], ["notes::write"]],
  ["/traces?trigger=http", ["/books"], ["notes::write"]],
  ["/traces?attr=%5B%22svc.function_id%3Aequals%3Abooks%3A%3Aburn%22%5D", ["books::burn"], ["notes::write"]],
  [
    "/traces?group=svc.function_id",
    ["books::burn"],
    [],
    (page) => content(page).getByRole("grid", { name: "Groups of traces" }),
  ],
  ["/traces?min=60000", [], [], says("Nothing matches")],
  ["/traces?max=60000", ["books::burn"], [], chip("dur")],
  ["/traces?range=1h", ["books::burn"], [], range("Last hour")],
  [`/traces?from=${now - 3_600_000}&to=${now - 3_500_000}`, [], [], says("Nothing matches")],
  [`/traces?from=${now - 3_600_000}&to=${now + 3_600_000}`, ["books::burn"], []],
  ["/traces?sort=duration&dir=asc&q=books", ["books::burn"], [], sorted("Duration", "ascending")],
  ["/traces?system=true&q=books", ["books::burn"], [], checked("System")],
  ["/traces/{trace}?view=flame", [], [], pressed("Flame Graph")],
  ["/traces/{trace}?compare={other}", [], [], pressed("Compare")],
  ["/traces/{trace}/{span}?tab=tags", [], [], tab(/^Tags/)],
  ["/traces/{trace}?span=notes", ["notes::write"], [], says("match")],
  ["/traces/{trace}?errors=true", [], [], says("No span matches")],
  ["/traces/{trace}?least=60000", [], [], says("No span matches")],
  ["/traces/{trace}?part=writer", ["notes::write"], [], says("match")],
  ["/traces/{trace}?critical=true", ["notes::write"], [], checked("Critical path")],
  ["/logs?q=%22line%20of%20shop%22", ["a line of shop"], ["a line of api"]],
  ["/logs?level=%5B%22ERROR%22%5D", ["a line of api"], ["a line of shop"]],
  ["/logs?source=%5B%22shop%22%5D", ["a line of shop"], ["a line of api"]],
  ["/logs?not=%5B%22shop%22%5D", ["a line of api"], ["a line of shop"]],
  ["/logs?attr=%5B%22floor%3Agte%3A2%22%5D", ["a line of api"], ["a line of shop"]],
  ["/logs?trace={trace}", ["a line of the copy"], ["a line of shop"]],
  ["/logs?span={span}", ["a line of the copy"], ["a line of shop"]],
  ["/logs?worker=writer", [], ["a line of shop"], chip("worker:writer")],
  ["/logs?fn=books%3A%3Acopy", [], ["a line of shop"], chip("fn:books::copy")],
  ["/logs?off=%5B%22level%3Aerror%22%5D", ["a line of shop", "a line of api"], [], chip("level:error")],
  ["/logs?range=1h", ["a line of shop", "a line of api"], [], range("Last hour")],
  [`/logs?from=${now - 3_600_000}&to=${now - 3_500_000}`, [], [], says("Nothing matches")],
  [`/logs?from=${now - 3_600_000}&to=${now + 3_600_000}`, ["a line of shop"], []],
  ["/logs?group=true", ["a line of"], [], pressed("Group similar")],
  ["/logs?wrap=true", ["a line of shop"], [], pressed("Wrap")],
  [
    "/logs?cols=%5B%22time%22%2C%22floor%22%2C%22message%22%5D",
    ["a line of shop"],
    ["Source"],
    (page) => content(page).getByRole("columnheader", { name: "floor" }),
  ],
  ["/flow?view=list&q=burn", ["books::burn"], ["notes::write"]],
  ["/flow?view=list&focus=function%20books%3A%3Acopy&hops=1", ["books::copy", "notes::write"], ["books::burn"]],
  ["/flow?view=list&system=true", ["books::burn"], [], checked("System")],
  ["/flow?view=list&range=1h", ["books::burn"], [], range("Last hour")],
  ["/flow?dir=tb", [], [], chosen("Direction", "tb")],
  ["/config?section=flags", ["--engine-port"], []],
  ["/config?section=settings&q=default_timeout", ["default_timeout_ms"], ["shutdown"]],
  ["/config?section=settings&changed=true", ["svc-http"], ["default_timeout_ms"], checked("Only changed settings")],
];

/** Returns the parameters in the addresses of `LINKS`, as `page.parameter`. */
function linkedParameters(): string[] {
  return LINKS.flatMap(([address]) => {
    const { pathname, searchParams } = new URL(address, "http://x");
    const page = pathname.split("/")[1];
    return [...searchParams.keys()].map((key) => `${page === "" ? "dashboard" : page}.${key}`);
  });
}

it("tests exactly the parameters that pages keep in their address", async () => {
  const tested = new Set([...linkedParameters(), ...namedDeepLinks()]);
  const every = await everyParameter();
  expect(every.filter((parameter) => !tested.has(parameter))).toEqual([]);
  expect([...tested].filter((parameter) => !every.includes(parameter))).toEqual([]);
});

const withFacts = (text: string, encode: (value: string) => string): string =>
  text.replace(/\{(\w+)\}/g, (_, name: string) => encode(facts[name] ?? name));

const pageOf = (address: string): string => new URL(address, "http://x").pathname.split("/")[1] ?? "";

/** Name of the page and number of ids behind it. Addresses of the same route load the same code. */
const routeOf = (address: string): string => `${pageOf(address)} ${address.split("?")[0]?.split("/").length}`;

it("the console serves the page at each address", async () => {
  const answers = LINKS.map(async ([address]) => {
    const response = await fetch(`${system.console.url}${withFacts(address, encodeURIComponent)}`);
    return [
      address,
      response.status,
      response.headers.get("content-type"),
      (await response.text()).includes('<div id="root">'),
    ];
  });
  expect(await Promise.all(answers)).toEqual(
    LINKS.map(([address]) => [address, 200, "text/html; charset=utf-8", true]),
  );
});

// The first address of each route is loaded with the document, the others are navigated to inside it.
it.each([...new Set(LINKS.map(([address]) => pageOf(address)))])(
  "/%s applies the parameters of each address, and keeps them",
  async (name) => {
    const links = LINKS.filter(([address]) => pageOf(address) === name);
    const urlOf = (address: string): string => `${system.console.url}${withFacts(address, encodeURIComponent)}`;
    const first = links[0]?.[0] ?? "";
    const { page } = await openLive(urlOf(first), { document: "new" });
    const loaded = new Set([routeOf(first)]);
    const parameters = (url: string): string[] => [...new URL(url, "http://x").searchParams.keys()].sort();
    await checkEach(
      links,
      ([address]) => address,
      async ([address, shown, hidden, sees]) => {
        if (!loaded.has(routeOf(address))) await page.goto(urlOf(address));
        else if (address !== first) await visit(page, withFacts(address, encodeURIComponent));
        loaded.add(routeOf(address));
        for (const text of shown) await row(page, text).first().waitFor();
        await sees?.(page).waitFor();
        for (const text of hidden) await expect.poll(() => row(page, text).count(), { message: text }).toBe(0);
        expect(await page.getByText("in the address").count()).toBe(0);
        expect(parameters(page.url())).toEqual(parameters(address));
      },
    );
  },
);

it.each([
  ["/workers", "reader", "writer"],
  ["/functions", "books::read", "notes::write"],
  ["/triggers", "books::read", "notes::write"],
  ["/states/shelves", "top", "bottom"],
  ["/queues", "audit", "billing"],
  ["/logs", "a line of shop", "a line of api"],
] as const)("back and forward follow the selection on %s", async (path, first, second) => {
  const { page } = await openLive(`${system.console.url}${path}`);
  const choose = async (text: string): Promise<string> => {
    const before = page.url();
    await row(page, text).first().click();
    await page.waitForURL((url) => url.href !== before);
    return new URL(page.url()).pathname;
  };
  const one = await choose(first);
  const two = await choose(second);
  expect(two).not.toBe(one);
  for (const [step, pathname] of [
    ["back", one],
    ["back", path],
    ["forward", one],
    ["forward", two],
  ] as const) {
    await (step === "back" ? page.goBack() : page.goForward());
    await page.waitForURL((url) => url.pathname === pathname);
  }
  await row(page, second).first().waitFor();
});
