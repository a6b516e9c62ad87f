// `npm run screenshots`: builds, starts a small shop of three workers with every module, uses it for a while, and
// writes a screenshot of each page of the console into docs/console, in both themes, wide and narrow. Options: --only
// PAGE,PAGE and --out FOLDER.
import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openBrowser, startSystem } from "./console-system.mjs";
import { build, buildConsolePage, bundleCli, installBrowser } from "./setup.mjs";
import { interruptSignal, reportFailure, root, stepRunner } from "./steps.mjs";

const MAX_BYTES = 256 * 1024;
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
  - name: svc-observability
    config:
      alerts:
        - name: dead letters
          metric: svc.queue.dead
          operator: ">"
          threshold: 0
          window_seconds: 60
          action: { type: log }
`;

async function main() {
  const { values } = parseArgs({
    options: { only: { type: "string" }, out: { type: "string", default: join(root, "docs/console") } },
  });
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

/** Starts an engine, a console and three workers, each in its own process, with enough history for every page. */
async function startShop(undo) {
  const { url, http, program } = await startSystem(CONFIG, undo);
  for (const name of ["math-worker", "caller-worker", "shop"])
    await program(["scripts/shop-worker.mjs", name], new RegExp(`${name} is ready`));
  await placeOrders(http, undo);
  return { url, http };
}

const CUSTOMERS = ["ada@example.org", "grace@example.org", "nobody@example.org", "linus@example.org"];

/**
 * Places orders for a minute, valid and invalid ones, so that every chart has a line. Then places more while
 * screenshots are taken.
 */
async function placeOrders(http, undo) {
  for (let at = 0; at < 60; at++) {
    await order(http, at);
    await pause(700 + 500 * Math.sin(at / 5));
  }
  await post(`${http}/math/add-two-numbers`, { a: 10, b: 20 });
  let at = 60;
  const timer = setInterval(() => void order(http, at++).catch(() => undefined), 4_000);
  undo.push(() => clearInterval(timer));
}

async function order(http, at) {
  const prices = at % 15 === 5 ? [420, 380, 150] : [12.5 + at, 30, 7.25];
  await post(`${http}/orders`, { id: `order-${1000 + at}`, customer: CUSTOMERS[at % 7] ?? CUSTOMERS[0], prices });
}

async function post(url, body) {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  await response.text();
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** The screenshots: the page of each, and the actions before it is taken. */
const pages = ({ http }) => ({
  // The lists below the charts take longest.
  dashboard: { path: "/", first: "orders::take", lookFor: 8_000 },
  workers: { path: "/workers", first: "caller-worker" },
  nodes: { path: "/nodes", first: "This engine" },
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
    first: "Welcome to the lobby",
    async act(page) {
      for (const text of ["Is anybody there?", "Good morning", "Order 1012 is on its way", "Thank you!"]) {
        await post(`${http}/chat`, { room: "lobby", text });
      }
      await page.getByRole("row").filter({ hasText: "Thank you!" }).first().waitFor();
    },
  },
  queues: { path: "/queues/mails?tab=dead", first: "550 no such user" },
  traces: { path: "/traces", first: "orders" },
  trace: { path: "/traces?q=name%3Aorders%3A%3Atake%20status%3Aerror", first: "orders", open: true },
  logs: { path: "/logs", first: "an order came in" },
  metrics: { path: "/metrics/svc.calls", first: "orders::take" },
  query: { path: "/query?q=orders%3A%3Atake%20or%20value.name~a", first: "POST /orders" },
  flow: { path: "/flow", first: "orders" },
  config: { path: "/config", first: "Engine" },
  notifications: {
    path: "/queues",
    first: "mails",
    async act(page) {
      await page.getByRole("button", { name: /^Notifications/ }).click();
      await page.getByRole("dialog", { name: "Notifications" }).getByRole("listitem").first().waitFor();
    },
  },
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
        if (size > MAX_BYTES)
          faults.push(`it has ${Math.round(size / 1024)} KB, more than a screenshot in the repository should have`);
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
  // Waits for the end of toasts and animations.
  await page.waitForTimeout(picture.lookFor ?? 2_500);
  await page.mouse.move(0, 0);
  await page.screenshot({ path: file });
  await context.close();
  return faults;
}

process.exitCode = await main();
