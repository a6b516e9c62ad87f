import { rmSync } from "node:fs";
import { join } from "node:path";
import type { Worker } from "@svc-runtime/sdk";
import type { Locator, Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { checkAccessibility } from "./support/axe.ts";
import { clipboard, copiedBy } from "./support/clipboard.ts";
import { checkDeepLinks } from "./support/deep-link.ts";
import { deepLink } from "./support/deep-links.ts";
import { keepTrace, spanId, traceId } from "./support/kept-spans.ts";
import { systemOfFile } from "./support/of-file.ts";
import { visit } from "./support/visit.ts";
import { live, openLive, openPage } from "./support/watched-page.ts";

const HTML = '<img src="x" onerror="alert(1)">';
/** Close to the largest attribute that the engine stores. */
const LARGE = 480 * 1024;
/** Disables the engine's masking of secrets, to test the page's. */
const CONFIG = `workers:
  - name: svc-state
  - name: svc-observability
    config: { redact_keys: [nothing_is_called_so] }
`;
const system = systemOfFile({ config: CONFIG, killable: true });
let worker: Worker;
let traces: string;

beforeAll(async () => {
  traces = `${system.console.url}/traces`;
  worker = await system.worker("sender");
  const checkout = (trace: string, slow: number) =>
    keepTrace(worker, trace, [
      {
        ...{ id: `${trace} root`, name: "checkout", ago: 5_000, took: 1_000 },
        attributes: {
          note: HTML,
          api_token: "tok-12345",
          "order.total": 12,
          deep: `{"password":"deep-pass","items":[${"1,".repeat(60)}1]}`,
        },
        baggage: { tenant: "north", authorization: "bag-secret" },
        links: [{ trace: "other", span: "other root" }],
      },
      { id: `${trace} pay`, parent: `${trace} root`, name: "pay", ago: 4_900, took: slow, service: "bank" },
      {
        ...{
          id: `${trace} card`,
          parent: `${trace} pay`,
          name: "card",
          ago: 4_800,
          took: slow / 2,
          service: "bank",
          failed: "the card was refused",
        },
        events: [
          { name: "asked", attributes: { cookie: "event-secret", way: "post" } },
          {
            name: "exception",
            attributes: {
              "exception.type": "CardError",
              "exception.message": "refused",
              "exception.stacktrace": "at card.ts:1",
            },
          },
        ],
      },
      {
        id: `${trace} mail`,
        parent: `${trace} root`,
        name: `mail ${HTML}`,
        ago: 4_300,
        took: 0.455,
        service: "mailer",
      },
    ]);
  await checkout("one", 200);
  await checkout("other", 400);
  await keepTrace(worker, "odd", [
    { id: "top", name: "top", ago: 3_000, took: 100 },
    { id: "second top", name: "second top", ago: 2_990, took: 10 },
    { id: "orphan", parent: "never came", name: "orphan", ago: 2_950, took: 5 },
    { id: "egg", parent: "hen", name: "egg", ago: 2_940, took: 5 },
    { id: "hen", parent: "egg", name: "hen", ago: 2_930, took: 5 },
  ]);
  await keepTrace(worker, "too large", [
    { id: "too large", name: "too large", ago: 2_000, took: 10, attributes: { body: "x".repeat(5 * 1024 * 1024) } },
  ]);
  await keepTrace(worker, "large", [
    { id: "large root", name: "large", ago: 2_000, took: 10, attributes: { body: "x".repeat(LARGE) } },
  ]);
  // Answered before the job that it enqueued failed.
  await keepTrace(worker, "late", [
    { id: "late root", name: "POST /late", ago: 9_000, took: 139 },
    { id: "late mail", parent: "late root", name: "mail::send", ago: 8_900, took: 1_520, failed: "550 no such user" },
  ]);
  for (const code of ["card_declined", "card_expired"])
    await keepTrace(worker, code, [
      { id: `${code} root`, name: "POST /pay", ago: 8_000, took: 50, failed: "the payment failed" },
      {
        ...{ id: `${code} charge`, parent: `${code} root`, name: "payments::charge", ago: 7_990, took: 30 },
        failed: `refused: ${code}`,
        attributes: { "svc.error.code": code },
      },
    ]);
  const log = {
    message: `charging ${HTML}`,
    service_name: "bank",
    trace_id: traceId("one"),
    span_id: spanId("one card"),
  };
  await worker.call({ function_id: "engine::log::warn", payload: log });
});

const pathOf = (trace: string, span?: string, query = ""): string =>
  `${traces}/${traceId(trace)}${span === undefined ? "" : `/${spanId(span)}`}${query === "" ? "" : `?${query}`}`;
const treeRow = (page: Page, text: string) => page.getByRole("treegrid").getByRole("row").filter({ hasText: text });
const panel = (page: Page) => page.getByRole("tabpanel");

describe("the tabs of a span", () => {
  it("can all be opened by address and by key, and show markup as text", async () => {
    const { page } = await openPage(pathOf("one", "one root"));
    await panel(page).getByText("1 of 1 siblings").waitFor();
    await page.getByRole("tab", { name: /Tags/ }).click();
    await panel(page).getByText(HTML).waitFor();
    expect(await page.locator('img[src="x"]').count()).toBe(0);
    await panel(page).getByText("test-host").waitFor();
    await page.keyboard.press("]");
    await page.waitForURL(/tab=logs/);
    await panel(page).getByText("This span has no events").waitFor();
    await panel(page).getByText("Nothing was logged in this span").waitFor();
    await page.keyboard.press("]");
    await panel(page).getByText("No error was recorded").waitFor();
    await page.keyboard.press("]");
    await panel(page).getByText("north").waitFor();
    await page.keyboard.press("]");
    await page.waitForURL(/tab=links/);
    await panel(page).getByRole("link").click();
    await page.waitForURL(new RegExp(`/traces/${traceId("other")}/${spanId("other root")}`));
    await panel(page).getByText("siblings").waitFor();
    expect(await page.locator('img[src="x"]').count()).toBe(0);
  });

  it("show the events, log entries and errors of the span", async () => {
    const { page } = await openPage(pathOf("one", "one card", "tab=logs"));
    await panel(page).getByText("asked", { exact: true }).waitFor();
    await panel(page).getByText("post", { exact: true }).waitFor();
    await panel(page).getByText(`charging ${HTML}`).waitFor();
    await page.getByRole("tab", { name: /Errors/ }).click();
    await panel(page).getByText("CardError").waitFor();
    await panel(page).getByText("at card.ts:1").waitFor();
    await page.getByRole("tab", { name: /Logs/ }).click();
    await panel(page).getByRole("link", { name: "charging" }).click();
    await page.waitForURL(/\/logs\/\d+/);
  });

  it("mask secrets until they are revealed, in copies too", async () => {
    const { page } = await openPage(pathOf("one", "one root", "tab=tags"));
    const secrets = ["tok-12345", "deep-pass", "bag-secret"];
    const copied = (button: string): Promise<string> =>
      copiedBy(page.getByRole("region", { name: "checkout" }).getByRole("button", { name: button, exact: true }));
    await panel(page).getByText("api_token").waitFor();
    const before = (await panel(page).textContent()) ?? "";
    for (const secret of secrets) expect(before).not.toContain(secret);
    const json = await copied("Copy JSON");
    for (const secret of secrets) expect(json).not.toContain(secret);
    expect(json).toContain("north");
    expect(await copied("Copy api_token")).not.toContain("tok-12345");
    expect(await page.getByRole("link", { name: "Traces where api_token is this" }).count()).toBe(0);
    await page.getByRole("button", { name: "Copy JSON" }).first().click();
    // This button copies the whole trace, which is fetched first.
    await expect.poll(() => clipboard(page)).toContain('"name": "pay"');
    for (const secret of [...secrets, "event-secret"]) expect(await clipboard(page)).not.toContain(secret);
    await page.getByRole("button", { name: "Reveal secrets" }).first().click();
    await panel(page).getByText("tok-12345", { exact: true }).waitFor();
    expect(await copied("Copy JSON")).toContain("bag-secret");
    await page.getByRole("tab", { name: /Baggage/ }).click();
    await panel(page).getByText("bag-secret").waitFor();
  });

  it("show the start of a large attribute, and copy all of it", async () => {
    const { page } = await openPage(pathOf("large", "large root", "tab=tags"));
    await panel(page).getByText("480 KiB").waitFor();
    expect(((await panel(page).textContent()) ?? "").length).toBeLessThan(100_000);
    expect((await copiedBy(panel(page).getByRole("button", { name: "Copy body" }))).length).toBe(LARGE);
  });
});

it("does not find a trace that the engine rejected because of an attribute of 5 MB", async () => {
  const { page } = await openPage(pathOf("too large"));
  await page.getByText("Trace not found").waitFor();
});

it("warns about unusual traces, and shows each of their spans once", async () => {
  const { page } = await openPage(pathOf("odd"));
  await page.getByText("Partial trace").waitFor();
  await page.getByText("1 spans reference a parent that has not arrived").waitFor();
  await page.getByText("in a cycle").waitFor();
  for (const name of ["second top", "missing parent", "orphan", "egg", "hen"])
    expect(await treeRow(page, name).count(), name).toBe(1);
});

/** An element that is visible, and a span that is not. */
type Shown = readonly [there: (page: Page) => Locator, hidden?: string];

const QUERIES: readonly (readonly [span: string | undefined, query: string, shown: Shown])[] = [
  [undefined, "view=flame", [(page) => page.getByRole("tree", { name: "Flame graph of the spans" })]],
  [
    undefined,
    "view=flame&colors=self",
    [(page) => page.locator("select").filter({ has: page.locator('option[value="self"]:checked') })],
  ],
  [undefined, "view=services", [(page) => page.getByRole("row").filter({ hasText: "mailer" })]],
  [
    undefined,
    "view=services&rows=operation",
    [(page) => page.getByRole("grid", { name: "Operations of the trace" }).getByText("card")],
  ],
  [undefined, "view=map", [(page) => page.locator(".react-flow__node").filter({ hasText: "bank" })]],
  [
    undefined,
    "view=map&list=true",
    [(page) => page.getByRole("grid", { name: "Calls between services" }).getByText("mailer")],
  ],
  [
    undefined,
    `compare=${traceId("other")}`,
    [(page) => page.getByRole("grid", { name: "Differences" }).getByText("slower")],
  ],
  [
    undefined,
    `compare=${traceId("other")}&change=same`,
    [(page) => page.getByRole("button", { name: /^Same/, pressed: true })],
  ],
  [undefined, "span=card", [(page) => page.getByText("1 of 4 match"), "mail"]],
  [undefined, "errors=true", [(page) => treeRow(page, "card"), "mail"]],
  [undefined, "least=150", [(page) => treeRow(page, "pay"), "mail"]],
  [undefined, "part=mailer", [(page) => treeRow(page, "mail"), "card"]],
  [undefined, "critical=true", [(page) => page.getByRole("checkbox", { name: "Critical path", checked: true })]],
  [
    "one card",
    "",
    [(page) => page.getByRole("treegrid").locator('[aria-selected="true"]').filter({ hasText: "card" })],
  ],
  ["one card", "tab=errors", [(page) => panel(page).getByText("CardError")]],
  ["one card", "view=flame&tab=tags", [(page) => panel(page).getByText("This span has no attributes")]],
];

it(
  deepLink("traces", ["rows", "colors", "list", "change"], "of a trace shows the view, the span and the filters in it"),
  async () => {
    await checkDeepLinks(
      QUERIES.map(([span, query, [there, hidden]]) => ({
        url: pathOf("one", span, query),
        holds: async (page) => {
          await there(page).first().waitFor();
          if (hidden !== undefined) await expect.poll(() => treeRow(page, hidden).count()).toBe(0);
        },
      })),
    );
  },
);

it("has the status and duration of its root span everywhere, and shows asynchronous work separately", async () => {
  const { page } = await openLive(`${traces}?op=${encodeURIComponent("POST /late")}`);
  const listed = page.getByRole("grid", { name: "Traces" }).getByRole("row").filter({ hasText: "POST /late" });
  await listed.getByText("139 ms", { exact: true }).waitFor();
  await listed.getByText("OK", { exact: true }).waitFor();
  await listed.getByText("until +1.62 s, 1 error").waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Command palette" }).fill("late");
  await page.getByRole("dialog").getByText("OK · 139 ms · asynchronous work until +1.62 s, 1 error").waitFor();
  await page.keyboard.press("Escape");
  // It has an error, but it did not fail.
  await visit(page, "/traces?status=error");
  await page.getByRole("row").filter({ hasText: "POST /pay" }).first().waitFor();
  expect(await listed.count()).toBe(0);
  await visit(page, "/traces?failed=true");
  await listed.first().waitFor();
  await page.getByLabel("Filters").getByText("with errors").waitFor();
  await visitTrace(page, "late");
  await page.getByText("until +1.62 s, 1 error").waitFor();
  await page.getByText("550 no such user").waitFor();
  expect(new URL(page.url()).pathname).toBe(`/traces/${traceId("late")}`);
});

it("opens at the span that failed first, with its error in the head, and stays without a span once that is closed", async () => {
  const { page } = await openPage(pathOf("card_declined"));
  await page.getByRole("region", { name: "payments::charge" }).waitFor();
  await page.getByText("refused: card_declined").first().waitFor();
  expect(new URL(page.url()).pathname).toBe(`/traces/${traceId("card_declined")}/${spanId("card_declined charge")}`);
  await page.keyboard.press("Escape");
  await page.getByRole("region", { name: "payments::charge" }).waitFor({ state: "detached" });
  await page.getByRole("button", { name: "payments::charge" }).waitFor();
  expect(new URL(page.url()).pathname).toBe(`/traces/${traceId("card_declined")}`);
  await visit(page, `/traces/${traceId("one")}/root`);
  await page.getByRole("region", { name: "checkout" }).waitFor();
  expect(new URL(page.url()).pathname).toBe(`/traces/${traceId("one")}/${spanId("one root")}`);
});

it("differs from a trace with another error code, also at the same duration", async () => {
  const { page } = await openPage(pathOf("card_declined", undefined, `compare=${traceId("card_expired")}`));
  const differences = page.getByRole("grid", { name: "Differences" });
  await differences.getByText("card_declined → card_expired").waitFor();
  await page.getByRole("button", { name: "Outcome 1" }).click();
  await differences.getByRole("row").nth(1).getByText("payments::charge").waitFor();
  await expect.poll(() => differences.getByRole("row").count()).toBe(2);
});

describe("with the keyboard alone", () => {
  it("each view leads to its spans", async () => {
    const { page } = await openPage(pathOf("one", undefined, "view=services"));
    await page.getByRole("grid", { name: "Services of the trace" }).focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("Enter");
    await page.waitForURL(/part=\w+/);
    await page.getByRole("treegrid").waitFor();
    await visitTrace(page, "one", undefined, "view=map");
    await page.locator('.react-flow__node[data-id="bank"]').focus();
    await page.keyboard.press("Enter");
    await page.waitForURL(/part=bank/);
    await visitTrace(page, "one", undefined, "view=map&list=true");
    await page.getByRole("grid", { name: "Calls between services" }).focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("Enter");
    await page.waitForURL(/part=\w+/);
    await visitTrace(page, "one", undefined, `compare=${traceId("other")}`);
    await page.getByRole("grid", { name: "Differences" }).focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("Enter");
    await page.getByRole("region", { name: "checkout" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("region", { name: "checkout" }).waitFor({ state: "detached" });
  });

  it("the waterfall goes to the next error, zooms, and resets the zoom", async () => {
    const { page } = await openPage(pathOf("one"));
    const tree = page.getByRole("treegrid", { name: "Spans" });
    await treeRow(page, "card").waitFor();
    await tree.focus();
    await page.keyboard.press("e");
    await page.keyboard.press("Enter");
    await page.getByRole("region", { name: "card" }).waitFor();
    await page.keyboard.press("Escape");
    await tree.focus();
    await page.keyboard.press("+");
    await expect.poll(() => page.getByRole("button", { name: "Reset zoom" }).isEnabled()).toBe(true);
    await page.keyboard.press("0");
    await expect.poll(() => page.getByRole("button", { name: "Reset zoom" }).isEnabled()).toBe(false);
    await page.getByRole("button", { name: "Compare with…" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").getByRole("listitem").first().waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
  });
});

const visitTrace = (page: Page, ...of: Parameters<typeof pathOf>): Promise<void> =>
  visit(page, pathOf(...of).slice(system.console.url.length));

it("each view is accessible and fits the window in both themes, wide and narrow", async () => {
  const { page } = await openLive(traces);
  const views: readonly (readonly [string, Locator])[] = [
    ["", treeRow(page, "card")],
    ["view=flame", page.getByRole("tree")],
    ["view=services", page.getByRole("row").filter({ hasText: "bank" })],
    ["view=map", page.locator(".react-flow__node").filter({ hasText: "bank" })],
    ["view=map&list=true", page.getByRole("row").filter({ hasText: "bank" })],
    [`compare=${traceId("other")}`, page.getByText("slower")],
  ];
  for (const [query, shown] of views) {
    await visitTrace(page, "one", undefined, query);
    await checkAccessibility(page, query, () => shown.first().waitFor());
  }
});

it("each tab of a span is accessible and fits the window in both themes, wide and narrow", async () => {
  const { page } = await openLive(traces);
  for (const tab of ["info", "tags", "logs", "errors", "baggage"]) {
    await visitTrace(page, "one", "one card", `tab=${tab}`);
    await checkAccessibility(page, tab, () => panel(page).waitFor());
  }
});

it("keeps the trace while the engine is down, and shows when the restarted engine does not have it", async () => {
  const { page } = await openLive(pathOf("one"), { expected: [/.*/] });
  await treeRow(page, "card").waitFor();
  await system.killEngine();
  await page.getByRole("alert").getByText("The engine cannot be reached").waitFor({ timeout: 20_000 });
  await treeRow(page, "card").waitFor();
  rmSync(join(system.folder, ".svc/data/observability"), { recursive: true, force: true });
  await system.startEngine();
  await live(page);
  await page.getByText("Trace not found").waitFor({ timeout: 20_000 });
});
