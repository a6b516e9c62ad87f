import { expect, it } from "vitest";
import { axeViolations } from "./support/axe.ts";
import { clipboard } from "./support/clipboard.ts";
import { holdSocket } from "./support/held-socket.ts";
import { systemOfFile } from "./support/of-file.ts";
import { openLive, openPage, widthOverflow } from "./support/watched-page.ts";

const system = systemOfFile();

it("finds functions, state and recent items in the palette, and runs commands", async () => {
  const worker = await system.worker("finder");
  worker.registerFunction("finder::find", () => 1);
  await worker.call({ function_id: "state::set", payload: { scope: "finder scope", key: "finder/key 1", value: 1 } });
  const { page } = await openPage(`${system.console.url}/workers`);
  await page.getByRole("row").filter({ hasText: "finder" }).click();
  await page.waitForURL(/\/workers\/.+/);
  await page.keyboard.press("Control+k");
  await page.getByRole("group", { name: "Recent" }).getByText("finder").waitFor();
  await page.keyboard.type("finder");
  await page.getByRole("option", { name: /finder::find/ }).waitFor();
  await page
    .getByRole("option", { name: /finder scope/ })
    .first()
    .waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await page.getByRole("option", { name: /finder\/key 1/ }).click();
  await page.waitForURL(/\/states\/finder%20scope\/finder%2Fkey%201/);
  await page.keyboard.press("Control+k");
  await page.keyboard.type("time zone, theme");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name: "Display" }).waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await page.getByRole("combobox", { name: "Time zone" }).selectOption("Asia/Tokyo");
  await page.getByRole("combobox", { name: "Density" }).selectOption("compact");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Time zone: Asia/Tokyo" }).waitFor();
  await page.reload();
  await page.getByRole("button", { name: "Time zone: Asia/Tokyo" }).waitFor();
  expect(await page.evaluate("document.documentElement.dataset.density")).toBe("compact");
  await worker.shutdown();
});

it("changes pages by two keys, skips to the content, and lists every shortcut", async () => {
  const { page } = await openLive(`${system.console.url}/`);
  await page.keyboard.press("Tab");
  expect(await page.evaluate("document.activeElement.textContent")).toBe("Skip to the content");
  await page.keyboard.press("Enter");
  expect(await page.evaluate("document.activeElement.id")).toBe("content");
  for (const [key, path] of [
    "w/workers",
    "f/functions",
    "t/triggers",
    "s/states",
    "m/streams",
    "q/queues",
    "r/traces",
    "l/logs",
    "n/nodes",
    "c/config",
  ].map((each) => [each[0], each.slice(1)])) {
    await page.keyboard.press("g");
    await page.keyboard.press(key as string);
    await page.waitForURL(`**${path}`);
  }
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keyboard shortcuts" }).getByText("Go to Workers").waitFor();
});

it("animates nothing if reduced motion is preferred", async () => {
  const { page } = await openPage("about:blank");
  // The page waits for its data until then.
  const socket = await holdSocket(page);
  await page.goto(`${system.console.url}/functions`);
  await page.getByRole("status", { name: "Loading" }).locator("[aria-hidden]").first().waitFor();
  expect(await page.evaluate("document.getAnimations().length")).toBe(0);
  socket.release();
});

it("copies the link to the view", async () => {
  const { page } = await openLive(`${system.console.url}/workers?system=true`);
  await page.keyboard.press("c");
  await page.getByText("Link copied").waitFor();
  expect(await clipboard(page)).toBe(page.url());
});

it("has a drawer on a narrow screen, closed by Escape and navigation, and fits at 400 % zoom", async () => {
  const { page } = await openLive(`${system.console.url}/`, { width: 360, height: 225 });
  expect(await page.getByRole("navigation", { name: "Pages" }).count()).toBe(0);
  await page.getByRole("button", { name: "Menu" }).click();
  await page.getByRole("navigation", { name: "Pages" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("navigation", { name: "Pages" }).waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Menu" }).click();
  await page.getByRole("link", { name: "Workers", exact: true }).click();
  await page.waitForURL(/\/workers$/);
  await page.getByRole("navigation", { name: "Pages" }).waitFor({ state: "detached" });
  expect(await widthOverflow(page)).toBe(0);
});

it("ignores unknown parameters in the address, and says so", async () => {
  const { page } = await openPage(`${system.console.url}/workers?system=true&nonsense=1&dir=sideways`);
  await page.getByText("in the address").waitFor();
  await page.getByRole("row").filter({ hasText: "svc-state" }).waitFor();
});
