import type { Worker } from "@svc-runtime/sdk";
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { checkAccessibility } from "./support/axe.ts";
import { holdCalls } from "./support/held-calls.ts";
import { pasteIntoEditor } from "./support/json-editor.ts";
import { systemOfFile } from "./support/of-file.ts";
import { visit } from "./support/visit.ts";
import { loaded, openLive, openPage, type PageOptions, type WatchedPage } from "./support/watched-page.ts";

const CONFIG = `workers:
  - name: svc-http
  - name: svc-state
  - name: svc-queue
    config:
      queue_configs:
        emails: {max_attempts: 1}
        held: {}
        filled: {}
        reports: {}
`;

const system = systemOfFile({ config: CONFIG });
let worker: Worker;
const received: unknown[] = [];
const published: unknown[] = [];

beforeAll(async () => {
  worker = await system.worker("mailer");
  worker.registerFunction("mail::send", (job: { readonly to: string }) => {
    if (job.to === "nobody") throw new Error("550 no such user");
    received.push(job);
    return null;
  });
  worker.registerFunction("audit::log", (message: unknown) => {
    published.push(message);
    return null;
  });
  await worker.registerTrigger({
    type: "durable:subscriber",
    function_id: "audit::log",
    config: { topic: "orders/created" },
  }).registered;
});

const call = (functionId: string, payload: unknown) => worker.call({ function_id: functionId, payload });
const stats = (queue: string) => call("queue::stats", { queue }) as Promise<Record<string, number>>;

/** Leaves the queue with `count` dead letters and no other jobs. */
async function bury(count: number, data: Readonly<Record<string, unknown>> = {}): Promise<void> {
  const { jobs } = (await call("queue::peek", { queue: "emails", state: "dead" })) as {
    readonly jobs: readonly { readonly job_id: string }[];
  };
  if (jobs.length > 0) await call("queue::discard", { queue: "emails", job_ids: jobs.map(({ job_id }) => job_id) });
  for (let at = 0; at < count; at++)
    await call("queue::enqueue", {
      queue: "emails",
      function_id: "mail::send",
      data: { to: "nobody", n: at, ...data },
    });
  await expect.poll(async () => (await stats("emails")).dead).toBe(count);
}

const queues = (path: string, options: PageOptions = {}): Promise<WatchedPage> =>
  openLive(`${system.console.url}/queues${path}`, options);

const row = (page: Page, text: string) => page.getByRole("row").filter({ hasText: text });

it("lists queues, topics and subscribers with their counts, and follows changes", async () => {
  const { page } = await queues("");
  await row(page, "emails").waitFor();
  await row(page, "orders/created").waitFor();
  await row(page, "audit::log").waitFor();
  await call("queue::pause", { queue: "held" });
  await call("queue::enqueue", { queue: "held", function_id: "mail::send", data: { to: "a" } });
  await row(page, "held").getByText("Paused").waitFor();
  await row(page, "held").getByRole("gridcell", { name: "1", exact: true }).waitFor();
});

it("shows why a job failed, redrives it with edited data, and discards one", async () => {
  await bury(2, { api_key: "s3cret", big: 1 });
  // The page may load the job again right after it ended. The browser then logs the 404.
  const { page } = await queues("/emails?tab=dead", { expected: [/status of 404/] });
  await row(page, "550 no such user").first().click();
  const job = page.getByRole("region", { name: "Job" });
  await job.getByText("invocation_failed 550 no such user").waitFor();
  await job.getByText("api_key").waitFor();
  expect(await page.locator("body").textContent()).not.toContain("s3cret");
  expect(new URL(page.url()).searchParams.get("job")).toMatch(/^[0-9a-f-]{36}$/);
  await page.reload();
  await job.getByText("invocation_failed 550 no such user").waitFor();

  await page.getByRole("button", { name: "Edit and redrive …" }).click();
  expect(await page.getByRole("dialog").getByRole("button", { name: "Redrive", exact: true }).isDisabled()).toBe(true);
  const reveal = page.getByRole("button", { name: "Reveal and edit" });
  await reveal.waitFor();
  expect(await page.locator("body").textContent()).not.toContain("s3cret");
  await reveal.click();
  const data = page.getByRole("textbox", { name: "Data of the job" });
  await page.locator(".cm-content").waitFor();
  await data.click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText('{"to":"somebody","n":9007199254740993}');
  await page.getByRole("dialog").getByRole("button", { name: "Redrive", exact: true }).click();
  await expect.poll(() => received.some((each) => (each as { to: string }).to === "somebody")).toBe(true);

  await row(page, "550 no such user").first().click();
  await page.getByRole("button", { name: "Discard …" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Discard", exact: true }).click();
  await page.getByText("No dead letters").waitFor();
  expect(await stats("emails")).toMatchObject({ dead: 0 });
});

it("redrives and discards selected dead letters, and redrives all", async () => {
  await bury(4);
  const { page } = await queues("/emails?tab=dead");
  await page.getByText("Select all 4").waitFor();
  const ticks = page.getByRole("checkbox");
  await ticks.nth(0).check();
  await page.getByRole("button", { name: "Discard 1" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Discard 1", exact: true }).click();
  await page.getByText("Select all 3").waitFor();
  const added = (await stats("emails")).died ?? 0;
  await ticks.nth(0).check();
  const release = await holdCalls(page, "queue::redrive");
  await page.getByRole("button", { name: "Redrive 1 selected" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Redrive 1", exact: true }).click();
  await page.keyboard.press("Escape");
  // The dialog stays open when the other action completes.
  await page.getByRole("button", { name: "Redrive all" }).click();
  const redriveAll = page.getByRole("dialog").getByRole("button", { name: /^Redrive \d/ });
  await redriveAll.waitFor();
  release();
  // The job fails again, because mail::send still rejects it.
  await expect.poll(async () => (await stats("emails")).died).toBe(added + 1);
  await page.getByText("1 dead letter redriven to emails").waitFor();
  await page.getByRole("dialog").getByText("Redrive 3 dead letters?").waitFor();
  await redriveAll.click();
  await expect.poll(async () => (await stats("emails")).died).toBe(added + 4);
});

it("selects all dead letters, also those that are not loaded, and asks with their number", async () => {
  await bury(103);
  const { page } = await queues("/emails?tab=dead");
  await page.getByRole("button", { name: "Select all 103" }).click();
  await page.getByRole("button", { name: "Redrive 103 selected" }).click();
  await page.getByRole("dialog").getByText("Redrive 103 dead letters?").waitFor();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Discard 103" }).click();
  await page.getByRole("dialog").getByText("Discard 103 dead letters?").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Discard 103", exact: true }).click();
  await page.getByText("No dead letters").waitFor();
  expect(await stats("emails")).toMatchObject({ dead: 0 });
});

it("pauses, resumes, and purges after the user typed the name", async () => {
  const { page } = await queues("/filled");
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByRole("button", { name: "Resume" }).waitFor();
  expect(await stats("filled")).toMatchObject({ paused: true });
  await call("queue::enqueue", { queue: "filled", function_id: "mail::send", data: { to: "a", n: 1 } });
  await row(page, "mail::send").waitFor();
  await page.getByRole("button", { name: "Purge" }).click();
  const purge = page.getByRole("dialog").getByRole("button", { name: "Purge" });
  expect(await purge.isDisabled()).toBe(true);
  await page.getByLabel(/to confirm/).fill("filled");
  await purge.click();
  await page.getByText("No waiting jobs").waitFor();
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByRole("button", { name: "Pause" }).waitFor();
  expect(await stats("filled")).toMatchObject({ paused: false, waiting: 0 });
});

it("enqueues a job, opens it, and cancels it", async () => {
  const { page } = await queues("/filled?tab=enqueue");
  await page.getByLabel("Function", { exact: false }).first().fill("mail::send");
  await page.getByLabel("Delay in ms").fill("3600000");
  const data = page.getByRole("textbox", { name: "Data of the job" });
  await page.locator(".cm-content").waitFor();
  await data.click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText('{"to": 9007199254740993}');
  await page.getByRole("button", { name: "Enqueue" }).click();
  await page.getByText("Enqueued:").getByRole("button").click();
  await page.getByText("9007199254740993").waitFor();
  await page.getByText("Delayed", { exact: true }).last().waitFor();
  await page.getByRole("button", { name: "Cancel the job …" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel the job" }).click();
  await expect.poll(async () => (await stats("filled")).delayed).toBe(0);
});

it("publishes to a topic from both forms of its URL", async () => {
  for (const path of ["/orders%2Fcreated", "/topic%3Aorders%2Fcreated"]) {
    const { page, close } = await queues(path);
    await page.locator(".cm-content").waitFor();
    await page.getByRole("textbox", { name: "Data of the message" }).click();
    await page.keyboard.press("Control+a");
    await page.keyboard.insertText(JSON.stringify({ path }));
    await page.getByRole("button", { name: "Publish" }).click();
    await page.getByText("Published to 1 subscription.").waitFor();
    await expect.poll(() => published).toContainEqual({ path });
    await close();
  }
});

it("can be used by keyboard alone", async () => {
  await bury(1);
  const { page } = await queues("?q=emails");
  await row(page, "emails").waitFor();
  await page.getByRole("grid", { name: "Queues" }).focus();
  await page.keyboard.press("ArrowDown");
  await page.getByRole("tab", { name: "Dead letters" }).waitFor();
  await page.getByRole("grid").nth(1).focus();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.getByRole("region", { name: "Job" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("tab", { name: "Dead letters" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("tab", { name: "Dead letters" }).waitFor({ state: "detached" });
  expect(new URL(page.url()).pathname).toBe("/queues");
});

it("distinguishes no match, an empty list, an unknown queue or job, loading, and an error", async () => {
  const { page, close } = await queues("?q=zzz");
  await page.getByText("No queue, topic or subscriber matches “zzz”.").waitFor();
  await page.getByRole("button", { name: "Clear the filters" }).click();
  await row(page, "emails").waitFor();
  await visit(page, "/queues/nobody");
  await page.getByText("Queue or topic not found").waitFor();
  await visit(page, "/queues/filled?tab=active");
  await page.getByText("No jobs in flight").waitFor();
  await close();

  const gone = await queues("/emails?job=00000000-0000-4000-8000-000000000000", { expected: [/404/] });
  await gone.page.getByText("Job not found").waitFor();
  await gone.close();

  const held = await openPage("about:blank", { expected: [/500/] });
  let answer: "hold" | "fail" = "hold";
  await held.page.route("**/api/call*", async (route) => {
    if (answer === "hold") return;
    await route.fulfill({
      status: 500,
      contentType: "application/json",
      body: '{"ok":false,"error":{"code":"storage_failed","message":"the disk is full"}}',
    });
  });
  await held.page.goto(`${system.console.url}/queues`);
  await held.page.getByRole("status", { name: "Loading" }).waitFor();
  answer = "fail";
  await held.page.reload();
  await held.page.getByText("the disk is full").waitFor();
  await held.close();
});

it("shows the progress of a running job, its result when it is done, and why a job waits", async () => {
  let end = (): void => {};
  worker.registerFunction("reports::build", (_, { job }) => {
    job?.progress(0.4, "4 of 10 pages");
    return new Promise((resolve) => {
      end = () => resolve({ pages: 10, api_key: "s3cret" });
    });
  });
  await call("queue::enqueue", { queue: "reports", function_id: "reports::build" });
  const { page } = await queues("/reports?tab=active");
  await row(page, "reports::build").getByText("4 of 10 pages").waitFor();
  await row(page, "reports::build").getByText("40 %").waitFor();
  end();
  await page.getByRole("tab", { name: /^Done/ }).click();
  await row(page, "reports::build")
    .getByText(/"pages": ?10/)
    .waitFor();
  await row(page, "reports::build").first().click();
  const job = page.getByRole("region", { name: "Job" });
  await job.getByRole("heading", { name: "Result" }).waitFor();
  await loaded(page);
  expect(await page.locator("body").textContent()).not.toContain("s3cret");
  await call("queue::enqueue", { queue: "reports", function_id: "reports::biuld" });
  await page
    .getByText("no connected worker provides the function reports::biuld; did you mean reports::build?")
    .waitFor();
  await call("queue::purge", { queue: "reports" });
});

it("is accessible and fits the window in both themes, wide and narrow", async () => {
  await bury(1);
  const { jobs } = (await call("queue::peek", { queue: "emails", state: "dead" })) as { jobs: { job_id: string }[] };
  const { page } = await queues("");
  for (const path of [
    "",
    "/emails?tab=dead",
    `/emails?job=${jobs[0]?.job_id}`,
    "/emails?tab=enqueue",
    "/reports?tab=done",
    "/orders%2Fcreated",
  ]) {
    await visit(page, `/queues${path}`);
    const shown =
      path === ""
        ? row(page, "emails")
        : path.includes("tab=d")
          ? row(page, path.includes("dead") ? "550" : "pages")
          : page.getByRole("button", { name: /^(Redrive|Enqueue|Publish)$/ });
    await checkAccessibility(page, `/queues${path}`, async () => {
      await shown.first().waitFor();
      if (/enqueue|orders/.test(path)) await page.locator(".cm-content").waitFor();
    });
  }
});

describe("a masked secret", () => {
  it("is not published in place of the secret", async () => {
    const { page } = await queues("/orders%2Fcreated");
    await pasteIntoEditor(page, '{"password": "***"}');
    await page.getByText("stands for a secret that was not revealed").waitFor();
    await page.getByRole("button", { name: "Publish" }).and(page.locator(":disabled")).waitFor();
    await pasteIntoEditor(page, '{"password": "known"}');
    await page.getByRole("button", { name: "Publish" }).click();
    await page.getByText("Published to 1 subscription").waitFor();
    await expect.poll(() => published).toContainEqual(expect.objectContaining({ password: "known" }));
  });
});
