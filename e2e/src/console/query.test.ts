import { beforeAll, expect, it } from "vitest";
import { systemOfFile } from "./support/of-file.ts";
import { openLive } from "./support/watched-page.ts";

const system = systemOfFile();

beforeAll(async () => {
  const worker = await system.worker("shop");
  worker.registerFunction("orders::take", ({ id }: { readonly id: number }) => {
    throw new Error(`order ${id} was declined`);
  });
  await worker.call({ function_id: "orders::take", payload: { id: 7 } }).catch(() => undefined);
  await worker.call({
    function_id: "engine::log::error",
    payload: { message: "card declined", data: { order_id: 7, function_id: "orders::take" } },
  });
  const items = [
    ["o-1", "paid"],
    ["o-2", "failed"],
  ].map(([key, status]) => ({ scope: "orders", key, value: { status, total: 120 } }));
  await worker.call({ function_id: "state::set_many", payload: { items } });
});

it("runs one query over traces, logs and state, with a link that shows the same", async () => {
  const { page } = await openLive(`${system.console.url}/query`);
  const box = page.getByRole("searchbox", { name: "Query traces, logs and state" });
  const results = page.getByRole("grid", { name: "Results" });
  const status = page.getByRole("status").filter({ hasText: "Traces:" });
  const row = (text: string) => results.getByRole("row").filter({ hasText: text });

  // Names of attributes are those of the stored entries and items.
  await box.pressSequentially("value.stat");
  await expect
    .poll(async () => {
      await box.press("Backspace");
      await box.pressSequentially("t");
      return page.getByRole("option", { name: /value\.status:/ }).count();
    })
    .toBe(1);
  await box.press("Escape");
  await box.fill("value.status:failed");
  await row("o-2").waitFor();
  await expect.poll(() => row("o-1").count()).toBe(0);
  await box.fill("key:o-2");
  await expect.poll(() => row("not searched: unknown field key").count()).toBe(2);

  await box.fill("attr.order_id:7");
  await row("card declined").waitFor();
  await box.fill("error and function:orders::*");
  await row("orders::take").waitFor();
  await page.waitForURL(/\/query\?q=error/);
  await expect.poll(() => status.textContent()).toMatch(/^Traces: 1 · Logs: 1 · State: not searched: "error"/);

  // The link shows the same, and a row opens the trace.
  await page.reload();
  await row("orders::take").waitFor();
  await results.focus();
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/traces\/[0-9a-f]{32}/);
});

it("finds state items of all groups by a query, and opens one beside the results", async () => {
  const { page } = await openLive(`${system.console.url}/states`);
  await page.getByRole("searchbox", { name: "Query the items of all groups" }).fill("value.total>100 and key:o-*");
  const results = page.getByRole("grid", { name: "Matching items" });
  await results.getByRole("row").filter({ hasText: "o-1" }).waitFor();
  await page.getByText("2 of 2 searched items match").waitFor();
  await results.focus();
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.waitForURL(/\/states\/orders\/o-2\?.*query=/);
  await page.getByRole("heading", { level: 2, name: "o-2" }).first().waitFor();
  await page.getByRole("searchbox", { name: "Query the items of all groups" }).fill("scpe:x");
  await page.getByText("unknown field scpe; did you mean scope?").waitFor();
});

it("imports traces and logs of an OTLP file, and shows what came from it", async () => {
  const { page } = await openLive(`${system.console.url}/query`);
  const nanos = String(BigInt(Date.now()) * 1_000_000n);
  const resource = { attributes: [{ key: "service.name", value: { stringValue: "colleague" } }] };
  const span = {
    ...{ traceId: "5bf92f3577b34da6a3ce929d0e0e4736", spanId: "00f067aa0ba902b8", name: "GET /reports", kind: 2 },
    ...{ startTimeUnixNano: nanos, endTimeUnixNano: nanos },
  };
  const record = { timeUnixNano: nanos, severityNumber: 9, body: { stringValue: "report written" } };
  const document = {
    resourceSpans: [{ resource, scopeSpans: [{ spans: [span] }] }],
    resourceLogs: [{ resource, scopeLogs: [{ logRecords: [record] }] }],
  };
  const file = (name: string, content: string) => ({
    name,
    mimeType: "application/json",
    buffer: Buffer.from(content),
  });
  const input = page.getByLabel("File with traces or log entries");
  await input.setInputFiles(file("their trace.json", JSON.stringify(document, undefined, 2)));
  await page.getByText("Imported 1 span and 1 log entry").waitFor();
  await page.waitForURL(/q=resource\.import\.file/);
  const results = page.getByRole("grid", { name: "Results" });
  await results.getByText("GET /reports").waitFor();
  await results.getByText("report written").waitFor();
  await input.setInputFiles(file("no.json", '{"x":1}'));
  await page.getByText("no.json was not imported: line 1 is neither OTLP JSON").waitFor();
});
