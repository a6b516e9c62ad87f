// `npm run screenshots`: builds, starts a small shop of three workers with every module, uses it for a while, and writes a picture of each page of the
// console into docs/console, in both themes, wide and narrow. Options: --only PAGE,PAGE and --out FOLDER.
import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openBrowser, startSystem } from "./console-system.mjs";
import { build, buildConsolePage, bundleCli, installBrowser } from "./setup.mjs";
import { interruptSignal, reportFailure, root, stepRunner } from "./steps.mjs";

const MAX_BYTES = 200 * 1024;
const CONFIG = `workers:
  - name: svc-http
  - name: svc-state
  - name: svc-stream
  - name: svc-cron
  - name: svc-event
  - name: svc-queue
    config:
      queue_configs:
        mails: { max_attempts: 1 }
        invoices: { concurrency: 2 }
`;

async function main() {
  const { values } = parseArgs({ options: { only: { type: "string" }, out: { type: "string", default: join(root, "docs/console") } } });
  const signal = interruptSignal();
  const undo = [];
  try {
    const { step } = stepRunner({ total: 6, signal });
    await step("Building", build);
    await step("Bundling svc", bundleCli);
    await step("Building the console's page", buildConsolePage);
    await step("Looking for a browser", installBrowser);
    const shop = await step("Running a shop", () => startShop(undo));
    await step("Taking the pictures", ({ note }) => takePictures(shop, { ...values, note }, undo));
    return 0;
  } catch (error) {
    return reportFailure(error);
  } finally {
    for (const each of undo.reverse()) await each();
  }
}

/** An engine, a console and three workers, with a past that every page has something to tell of. */
async function startShop(undo) {
  const { url, http, worker } = await startSystem(CONFIG, undo);
  const [math, caller, shop] = [await worker("math-worker"), await worker("caller-worker"), await worker("shop")];
  await provide(math, caller, shop);
  await use(shop, http);
  return { url, http, shop };
}

const numbers = { type: "object", required: ["a", "b"], properties: { a: { type: "number", description: "First addend" }, b: { type: "number" } } };

async function provide(math, caller, shop) {
  const call = (function_id, payload) => shop.call({ function_id, payload });
  math.registerFunction("math::add", ({ a, b }) => ({ c: a + b }), { description: "Adds two numbers: {a, b} gives {c}", request_format: numbers });
  caller.registerFunction(
    "math::add_two_numbers",
    async (payload, context) => {
      context.log.info("adding", payload);
      return caller.call({ function_id: "math::add", payload });
    },
    {
      description: "Adds two numbers by calling math::add: {a, b} gives {c}",
      request_format: numbers,
      response_format: { type: "object", properties: { c: { type: "number" } } },
    },
  );
  shop.registerFunction(
    "orders::take",
    async ({ body }, context) => {
      context.log.info("an order came in", { customer: body.customer, items: body.prices.length });
      const [first = 0, ...others] = body.prices;
      let total = first;
      for (const price of others) total = (await call("math::add_two_numbers", { a: total, b: price })).c;
      const charged = await context.span("charge the card", () => call("payments::charge", { customer: body.customer, total }));
      await call("state::set", { scope: "orders", key: body.id, value: { customer: body.customer, total, status: "paid", charged } });
      await call("publish", { topic: "order.paid", data: { id: body.id, total } });
      await call("queue::enqueue", { queue: "mails", function_id: "mail::send", data: { to: body.customer, order: body.id } });
      return { status_code: 201, headers: { "Content-Type": "application/json" }, body: { id: body.id, total } };
    },
    { description: "POST /orders: adds up the prices, charges and tells the others" },
  );
  shop.registerFunction(
    "payments::charge",
    async ({ customer, total }, context) => {
      if (total > 900) {
        context.log.error("the card was refused", { customer, total, code: "card_declined" });
        throw new Error("card_declined: the bank refused 900 or more");
      }
      if (total > 500) context.log.warn("a large sum", { customer, total });
      return { receipt: `r-${Math.round(total * 100)}` };
    },
    { description: "Charges a customer's card; refuses more than 900" },
  );
  shop.registerFunction(
    "stock::reserve",
    async ({ data }, context) => {
      context.log.debug("reserved", { order: data?.id });
      await call("stream::set", { stream_name: "orders", group_id: "today", item_id: data?.id ?? "none", data: { total: data?.total, at: "packing" } });
      return { reserved: true };
    },
    { description: "Runs on each order.paid" },
  );
  shop.registerFunction(
    "mail::send",
    ({ to }) => {
      if (to.startsWith("nobody")) throw new Error(`550 no such user: ${to}`);
      return { sent: true };
    },
    { description: "Sends the confirmation" },
  );
  shop.registerFunction("reports::tick", () => ({ orders: 12 }), { description: "Counts the orders each second" });
  shop.registerFunction("orders::changed", () => null, { description: "Runs when an order changes" });
  const bind = (type, function_id, config) => shop.registerTrigger({ type, function_id, config }).registered;
  await bind("http", "orders::take", { api_path: "/orders", http_method: "POST" });
  await bind("http", "math::add_two_numbers", { api_path: "/math/add-two-numbers", http_method: "POST" });
  await bind("cron", "reports::tick", { expression: "* * * * * *" });
  await bind("cron", "reports::tick", { expression: "0 0 9 * * 1", timezone: "Europe/Berlin" });
  await bind("event", "stock::reserve", { topic: "order.paid" });
  await bind("state", "orders::changed", { scope: "orders" });
  await bind("durable:subscriber", "stock::reserve", { topic: "orders/archive" });
}

const CUSTOMERS = ["ada@example.org", "grace@example.org", "nobody@example.org", "linus@example.org"];

/** Orders, good ones and bad ones, and what lies beside them. */
async function use(shop, http) {
  const call = (function_id, payload) => shop.call({ function_id, payload });
  await call("state::set", { scope: "math", key: "running_total", value: 30 });
  await call("state::set", { scope: "users", key: "ada", value: { name: "Ada Lovelace", plan: "pro", seats: 3, tags: ["first", "beta"] } });
  await call("state::set", { scope: "users", key: "grace", value: { name: "Grace Hopper", plan: "free", seats: 1 } });
  for (const room of ["lobby", "support"]) {
    await call("stream::set", { stream_name: "chat", group_id: room, item_id: "topic", data: { text: `Welcome to the ${room}` } });
  }
  for (let at = 0; at < 4; at++) {
    await call("queue::enqueue", { queue: "invoices", function_id: "mail::send", data: { to: CUSTOMERS[at % 4], invoice: 100 + at }, delay_ms: 3_600_000 });
  }
  for (let at = 0; at < 24; at++) {
    await order(http, at);
    await pause(150);
  }
  await call("math::add_two_numbers", { a: 10, b: 20 });
  // Until a few ticks of the schedule, samples and dead letters are there.
  await pause(12_000);
}

async function order(http, at) {
  const prices = at % 8 === 5 ? [420, 380, 150] : [12.5 + at, 30, 7.25];
  const response = await fetch(`${http}/orders`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ id: `order-${1000 + at}`, customer: CUSTOMERS[at % 4], prices }),
  });
  await response.text();
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** What each picture shows: where, and what is done there before it is taken. */
const pages = ({ shop, http }) => ({
  dashboard: { path: "/", first: "orders::take" },
  workers: { path: "/workers", first: "caller-worker" },
  functions: {
    path: `/functions/${encodeURIComponent("math::add_two_numbers")}?tab=invoke`,
    first: "math::add_two_numbers",
    async act(page) {
      await page.locator(".cm-content").first().click();
      await page.keyboard.press("Control+a");
      await page.keyboard.insertText('{\n  "a": 10,\n  "b": 20\n}');
      await page
        .getByRole("button", { name: /^Invoke/ })
        .first()
        .click();
      await page.getByText("30", { exact: true }).first().waitFor();
    },
  },
  triggers: { path: "/triggers", first: "/orders" },
  states: { path: "/states/users/ada", first: "running_total|Ada|ada" },
  streams: {
    path: "/streams?sub=chat:lobby",
    first: "chat",
    async act() {
      for (const text of ["Is anybody there?", "Good morning", "Order 1012 is on its way", "Thank you!"]) {
        await shop.call({ function_id: "stream::send", payload: { stream_name: "chat", group_id: "lobby", type: "message", data: { from: "ada", text } } });
      }
      await order(http, 50);
    },
  },
  queues: { path: "/queues/mails?tab=dead", first: "550 no such user" },
  traces: { path: "/traces", first: "orders" },
  trace: { path: "/traces?q=name%3Aorders%3A%3Atake%20status%3Aerror", first: "orders", open: true },
  logs: { path: "/logs", first: "an order came in" },
  flow: { path: "/flow", first: "orders" },
  config: { path: "/config", first: "Engine" },
});

async function takePictures(system, { only, out, note }, undo) {
  const browser = await openBrowser(undo);
  const problems = [];
  mkdirSync(out, { recursive: true });
  const wanted = only?.split(",");
  for (const [name, picture] of Object.entries(pages(system))) {
    if (wanted !== undefined && !wanted.includes(name)) continue;
    for (const theme of ["light", "dark"]) {
      for (const width of [1440, 390]) {
        const file = join(out, `${name}-${theme}-${width}.png`);
        const faults = await takePicture(browser, system.url, picture, { file, theme, width });
        const { size } = statSync(file);
        if (size > MAX_BYTES) faults.push(`it has ${Math.round(size / 1024)} KB, more than a picture in the repository should`);
        if (faults.length > 0) problems.push(`${file}: ${faults.join("; ")}`);
      }
    }
    note(name);
  }
  if (problems.length > 0) throw new Error(problems.join("\n"));
}

async function takePicture(browser, url, picture, { file, theme, width }) {
  const faults = [];
  const context = await browser.newContext({
    viewport: width === 390 ? { width, height: 844 } : { width, height: 900 },
    colorScheme: theme,
    reducedMotion: "reduce",
    timezoneId: "UTC",
    locale: "en-GB",
  });
  const page = await context.newPage();
  page.on("console", (message) => message.type() === "error" && faults.push(message.text()));
  page.on("pageerror", (error) => faults.push(error.message));
  await page.goto(`${url}${picture.path}`);
  try {
    await page.getByText(new RegExp(picture.first)).filter({ visible: true }).first().waitFor({ timeout: 20_000 });
    if (picture.open === true) {
      await page.getByRole("row").filter({ hasText: "orders" }).first().click();
      await page.getByRole("treegrid", { name: "Spans" }).waitFor();
    }
    await picture.act?.(page);
  } catch (error) {
    faults.push(error.message);
  }
  // Lines that are drawn from samples want a few, and toasts and fades an end.
  await page.waitForTimeout(2_500);
  await page.mouse.move(0, 0);
  await page.screenshot({ path: file });
  await context.close();
  return faults;
}

process.exitCode = await main();
