import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { checkAccessibility } from "./support/axe.ts";
import { holdSocket } from "./support/held-socket.ts";
import { systemOfFile } from "./support/of-file.ts";
import { openLive, openPage } from "./support/watched-page.ts";

const system = systemOfFile({ killable: true });
let call: (functionId: string, payload: unknown) => Promise<unknown>;

beforeAll(async () => {
  const worker = await system.worker("orders");
  call = (function_id, payload) => worker.call({ function_id, payload });
});

function send(text: string, stream = "chat", group = "room-1"): Promise<unknown> {
  return call("stream::send", { stream_name: stream, group_id: group, type: "hello", data: { text } });
}

/** All counters by name. Reads them in one step, since messages may arrive at any time. */
async function counters(page: Page): Promise<Readonly<Record<string, number>>> {
  const texts = await page.getByLabel("Counters").locator("dt, dd").allTextContents();
  return Object.fromEntries(
    texts.flatMap((text, at) => (at % 2 === 0 ? [[text, Number(texts[at + 1]?.replaceAll(",", ""))]] : [])),
  );
}

describe("the Streams page", () => {
  it("joins a group, shows its messages with their data, and keeps the subscription in the address", async () => {
    const { page } = await openLive(`${system.console.url}/streams`);
    await page.getByText("No messages yet").waitFor();
    await page.getByRole("button", { name: "Join a group" }).click();
    await page.getByLabel("Stream", { exact: true }).and(page.locator("input")).fill("chat");
    await page.getByLabel("Group", { exact: true }).and(page.locator("input")).fill("room-1");
    await page.getByRole("button", { name: "Join", exact: true }).click();
    await page.getByLabel("Subscriptions").getByText("live").waitFor();
    expect(decodeURIComponent(page.url())).toContain("chat:room-1");
    await send("<b>Hi</b>");
    const row = page.getByRole("row").filter({ hasText: "<b>Hi</b>" });
    await row.waitFor();
    await row.click();
    await page.getByRole("heading", { name: "event · chat" }).waitFor();
    await page.getByText('"<b>Hi</b>"', { exact: true }).waitFor();
    await page
      .getByRole("row", { name: /^chat/ })
      .getByRole("button", { name: /room-1/ })
      .waitFor();
  });

  it("joins the groups of its address only once it watches, so that it shows the messages of the join", async () => {
    const { page } = await openPage("about:blank");
    const socket = await holdSocket(page);
    await page.goto(`${system.console.url}/streams?sub=early:a&events=true`);
    await page.getByLabel("Subscriptions").getByText("joining").waitFor();
    await expect.poll(() => socket.sent.some((message) => message.includes("svc.stream.messages"))).toBe(true);
    expect(socket.sent.filter((message) => message.includes("early"))).toEqual([]);
    socket.release();
    await page.getByLabel("Subscriptions").getByText("live").waitFor();
    await page.getByRole("row").filter({ hasText: "early" }).filter({ hasText: "join" }).first().waitFor();
  });

  it("counts every message under load, and applies the filters of its address", async () => {
    const { page } = await openLive(`${system.console.url}/streams?sub=flood:a&stream=flood&type=event&dir=outbound`);
    await page.getByLabel("Subscriptions").getByText("live").waitFor();
    for (let batch = 0; batch < 20; batch++)
      await Promise.all(Array.from({ length: 50 }, (_, at) => send(String(at), "flood", "a")));
    await page.getByRole("button", { name: "Outbound 1,000" }).waitFor({ timeout: 20_000 });
    // More than one batch, but less than the engine buffers for a slow client. The button counts this page as a
    // subscriber.
    await Promise.all(Array.from({ length: 700 }, (_, at) => send(String(at), "flood", "a")));
    await page.getByRole("button", { name: "Outbound 1,700" }).waitFor({ timeout: 20_000 });
    const { Dropped, Total, Inbound, Outbound } = await counters(page);
    expect(Dropped).toBe(0);
    expect(Outbound).toBeGreaterThanOrEqual(1_700);
    expect(Total).toBe(Number(Inbound) + Number(Outbound));
    await page
      .getByRole("row", { name: /^flood/ })
      .getByRole("button", { name: "a 1 subscriber" })
      .waitFor();
    expect(await page.getByLabel("Stream", { exact: true }).inputValue()).toBe("flood");
    expect(await page.getByLabel("Type", { exact: true }).inputValue()).toBe("event");
  });

  it("pauses by key without losing messages, and marks the pause", async () => {
    const { page } = await openLive(`${system.console.url}/streams?sub=pause:a`);
    await page.getByLabel("Subscriptions").getByText("live").waitFor();
    // Joining also sends a message, which may arrive after the confirmation. It must not count towards the pause.
    await page.getByRole("row").filter({ hasText: "sync" }).waitFor();
    await page.keyboard.press("p");
    await send("while paused", "pause", "a");
    await page.getByText("1 new since then").waitFor();
    expect(await page.getByRole("row").filter({ hasText: "while paused" }).count()).toBe(0);
    await page.keyboard.press("p");
    await page.getByRole("row").filter({ hasText: "while paused" }).waitFor();
    await page.getByRole("row").filter({ hasText: "received, 0 evicted" }).waitFor();
  });

  it("exports the shown messages and shows the file offline", async () => {
    const { page } = await openLive(`${system.console.url}/streams?sub=export:a&q=kept`);
    await page.getByLabel("Subscriptions").getByText("live").waitFor();
    await send("kept", "export", "a");
    await send("other", "export", "a");
    await page.getByRole("row").filter({ hasText: "kept" }).waitFor();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "NDJSON" }).click(),
    ]);
    const lines = (await readFile(await download.path(), "utf8")).trim().split("\n");
    expect(lines.map((line) => (JSON.parse(line) as { stream: string }).stream)).toEqual(["export"]);
    await page.getByLabel("File with messages").setInputFiles(await download.path());
    await page.getByText("1 messages from the file").waitFor();
    await page.getByRole("button", { name: "Back to live" }).click();
  });

  it("shows that it is disconnected while the engine is down, rejoins by itself, and marks the gap", async () => {
    const { page } = await openLive(`${system.console.url}/streams?sub=back:a`, { expected: [/.*/] });
    await page.getByLabel("Subscriptions").getByText("live").waitFor();
    await system.killEngine();
    await page.getByLabel("Subscriptions").getByText("rejoining").waitFor();
    await system.startEngine();
    await page.getByLabel("Subscriptions").getByText("live").waitFor({ timeout: 30_000 });
    await page.getByRole("row").filter({ hasText: "Not watched" }).waitFor();
    await expect
      .poll(
        () =>
          send("again", "back", "a").then(
            () => true,
            () => false,
          ),
        { timeout: 20_000 },
      )
      .toBe(true);
    await page.getByRole("row").filter({ hasText: "again" }).first().waitFor();
  });

  it("is accessible and fits the window in both themes, wide and narrow", async () => {
    const { page } = await openLive(`${system.console.url}/streams?sub=axe:a&system=true&events=true`);
    const row = page.getByRole("row").filter({ hasText: "join" }).first();
    await checkAccessibility(page, "the list", () => row.waitFor());
    await row.waitFor();
    await page.getByRole("grid").focus();
    await page.keyboard.press("ArrowDown");
    await checkAccessibility(page, "a message", () => page.getByRole("heading", { level: 2, name: /·/ }).waitFor());
  });
});
