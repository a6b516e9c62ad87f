import { expect, it } from "vitest";
import { checkAccessibility } from "./support/axe.ts";
import { startSystem } from "./support/running-system.ts";
import { editor, ready, row, statesScene } from "./support/states-page.ts";
import { visit } from "./support/visit.ts";
import { live, openPage } from "./support/watched-page.ts";

const scene = statesScene({ killable: true });
const { set, get, raw, states } = scene;

it("opens an item from the groups, and goes back by the browser's history", async () => {
  await set("users", "ada", { name: "Ada", password: "hunter2" });
  const { page } = await states("");
  await page.getByText("No group selected").waitFor();
  await row(page, "users").click();
  await row(page, "ada").click();
  await page.getByRole("region", { name: "ada" }).getByText('"Ada"').waitFor();
  expect(new URL(page.url()).pathname).toBe("/states/users/ada");
  expect(await page.locator("body").textContent()).not.toContain("hunter2");
  await page.goBack();
  await page.getByRole("region", { name: "ada" }).waitFor({ state: "detached" });
  expect(await page.title()).toBe("States · users · svc");
});

it("shows and reopens items with unusual keys and values", async () => {
  const odd = [
    "a/b",
    "c:d",
    "50%",
    "with space",
    "ünïcode ✓",
    "..",
    ".",
    "~tilde",
    "%2F",
    "q?x#y",
    "back\\slash",
    "<b>x</b>",
    "[]",
  ];
  for (const key of odd) await set("odd / keys", key, `value of ${key}`);
  const values = [
    ["null", "null"],
    ["zero", "0"],
    ["empty", '""'],
    ["false", "false"],
    ["huge", "9007199254740993"],
    ["digits", "1.10"],
  ] as const;
  for (const [key, json] of values) await raw("state::set", `{"scope":"odd / keys","key":"${key}","value":${json}}`);
  const { page } = await states("/odd%20%2F%20keys");
  for (const [key, shown] of [...odd.map((each) => [each, JSON.stringify(`value of ${each}`)] as const), ...values]) {
    await page.getByRole("grid", { name: "Items of odd / keys" }).getByTitle(key, { exact: true }).click();
    const detail = page.getByRole("region", { name: key, exact: true });
    await detail.getByText(shown, { exact: true }).last().waitFor();
    // The address opens the item again: the server serves the page for it, and the page parses it.
    const url = page.url();
    expect((await fetch(url)).headers.get("content-type")).toContain("text/html");
    await visit(page, new URL(url).pathname);
    await detail.getByText(shown, { exact: true }).last().waitFor();
  }
  await page.reload();
  await page.getByRole("region", { name: "digits", exact: true }).getByText("1.10", { exact: true }).last().waitFor();
});

it("pages through 50,000 items on the server, and searches there", async () => {
  for (let part = 0; part < 50; part++) {
    const items = Array.from({ length: 1_000 }, (_, at) => ({
      scope: "many",
      key: `item-${String(part * 1_000 + at).padStart(5, "0")}`,
      value: at,
    }));
    await scene.worker.call({ function_id: "state::set_many", payload: { items } });
  }
  const { page } = await states("/many?size=500");
  await page.getByText("50,000").first().waitFor();
  await row(page, "item-00000").waitFor();
  await page.getByRole("button", { name: "Next page" }).click();
  await row(page, "item-00500").waitFor();
  await page.reload();
  await row(page, "item-00500").waitFor();
  await page.getByRole("button", { name: "First page" }).click();
  await row(page, "item-00000").waitFor();
  await page.getByLabel("Keys that begin with").fill("item-4321");
  await row(page, "item-43219").waitFor();
  expect(new URL(page.url()).searchParams.get("q")).toBe("item-4321");
});

it("hides system groups until the user shows them", async () => {
  await set("__console", "layout", { x: 1 });
  const { page } = await states("");
  await row(page, "users").waitFor();
  expect(await row(page, "__console").count()).toBe(0);
  await page.getByRole("checkbox", { name: "System" }).check();
  await row(page, "__console").waitFor();
  expect(new URL(page.url()).searchParams.get("system")).toBe("true");
});

it("keeps the view in the address, and drops invalid parameters with a notice", async () => {
  await set("users", "ada", { name: "Ada" });
  const { page } = await states("/users/ada?gq=us&q=ad&size=50&system=true&tab=edit&sort=key");
  await editor(page).waitFor();
  expect(await page.getByLabel("Groups that begin with").inputValue()).toBe("us");
  expect(await page.getByLabel("Keys that begin with").inputValue()).toBe("ad");
  expect(await page.getByRole("combobox", { name: "Items per page" }).inputValue()).toBe("50");
  expect(await page.getByRole("checkbox", { name: "System" }).isChecked()).toBe(true);
  await page.getByText("in the address").waitFor();
});

it("can be used with the keyboard alone", async () => {
  await set("keys only", "one", { n: 1 });
  const { page } = await states("?gq=keys");
  await row(page, "keys only").waitFor();
  await page.getByRole("grid", { name: "Groups" }).focus();
  await page.keyboard.press("ArrowDown");
  await row(page, "one").waitFor();
  await page.getByRole("grid", { name: "Items of keys only" }).focus();
  await page.keyboard.press("j");
  await page.getByRole("tab", { name: "Value" }).waitFor();
  await page.keyboard.press("]");
  await ready(page);
  await editor(page).focus();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText('{"n":2}');
  await page.keyboard.press("Control+s");
  await page.getByRole("dialog").getByRole("button", { name: "Save", exact: true }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByText("one is saved").waitFor();
  expect(await get("keys only", "one")).toEqual({ n: 2 });
  await page.getByRole("grid", { name: "Items of keys only" }).focus();
  await page.keyboard.press("Escape");
  await page.getByRole("region", { name: "one" }).waitFor({ state: "detached" });
  await page.keyboard.press("/");
  expect(await page.evaluate("document.activeElement.getAttribute('aria-label')")).toBe("Keys that begin with");
});

it("distinguishes loading, no items, no matches and failure", async () => {
  const { page, close } = await states("/users?q=zzz");
  await page.getByText("No key begins with “zzz”.").waitFor();
  await page.getByRole("button", { name: "Clear the filters" }).click();
  await row(page, "ada").waitFor();
  await visit(page, "/states/nobody");
  await page.getByText("This group is empty").waitFor();
  await visit(page, "/states/users/nobody");
  await page.getByText("Item not found").waitFor();
  await close();

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
  await held.page.goto(`${scene.system.console.url}/states`);
  await held.page.getByRole("status", { name: "Loading" }).waitFor();
  expect(await held.page.getByText("Nothing is stored").count()).toBe(0);
  answer = "fail";
  await held.page.reload();
  await held.page.getByText("the disk is full").waitFor();
  await held.page.getByText("state::groups failed").waitFor();
  await held.close();
});

it("is accessible and fits the window in both themes, wide and narrow", async () => {
  await set("users", "ada", { name: "Ada" });
  const { page } = await states("");
  for (const path of ["", "/users", "/users/ada", "/users/ada?tab=edit"]) {
    await visit(page, `/states${path}`);
    const shown =
      path === ""
        ? row(page, "users")
        : path === "/users"
          ? row(page, "ada")
          : page.getByRole("tab", { name: "Value" });
    await checkAccessibility(page, `/states${path}`, async () => {
      await shown.first().waitFor();
      if (path.includes("edit")) await ready(page);
    });
  }
});

it("shows the config lines that a missing module needs, and distinguishes a failure from an empty result", async () => {
  const bare = await startSystem({ killable: true, config: "workers:\n  - name: svc-http\n" });
  const { page, close } = await openPage(`${bare.console.url}/states/x/y`, { expected: [/404|503/] });
  await page.getByText("- name: svc-state").waitFor();
  await page.getByRole("link", { name: "Queues" }).click();
  await page.getByText("- name: svc-queue").waitFor();
  await bare.killEngine();
  await page.goto(`${bare.console.url}/states/x/y`);
  await page.getByRole("heading", { name: /^The engine is unreachable at / }).waitFor();
  expect(await page.getByText("was deleted").count()).toBe(0);
  await close();
  await bare.stop();
});

it("keeps its content while the engine is down, disables changes, and recovers by itself", async () => {
  await set("users", "ada", { name: "Ada" });
  const { page } = await states("/users/ada", { expected: [/./] });
  const value = page.getByRole("region", { name: "ada" }).getByText('"Ada"');
  await value.waitFor();
  await scene.system.killEngine();
  await expect.poll(() => page.getByRole("button", { name: "Add item" }).isDisabled()).toBe(true);
  expect(await page.getByRole("button", { name: "Add item" }).getAttribute("title")).toContain("cannot be reached");
  await expect.poll(() => value.count()).toBe(1);
  await scene.system.startEngine();
  await live(page);
  await set("users", "new one", 1);
  await row(page, "new one").waitFor();
});
