import { expect, it } from "vitest";
import { browserCommand } from "./open-browser.ts";

const address = "http://localhost:3113/workers";
const screen = { DISPLAY: ":0" };

it.each<[string, NodeJS.Platform, string]>([
  ["Linux", "linux", "xdg-open"],
  ["macOS", "darwin", "open"],
  ["Windows", "win32", "explorer.exe"],
])("opens the address with the command of %s", (_name, platform, program) => {
  expect(browserCommand(address, { env: screen, noteColumns: 80 }, platform)).toEqual([program, address]);
});

it.each([
  ["without a terminal", screen, undefined],
  ["in CI", { ...screen, CI: "true" }, 80],
  ["over SSH, where the screen is on another machine", { ...screen, SSH_CONNECTION: "10.0.0.1 1 10.0.0.2 22" }, 80],
  ["without a screen", {}, 80],
])("opens nothing %s", (_name, env, noteColumns) => {
  expect(browserCommand(address, { env, noteColumns }, "linux")).toBeUndefined();
});

it("opens on Wayland too", () => {
  expect(browserCommand(address, { env: { WAYLAND_DISPLAY: "wayland-0" }, noteColumns: 80 }, "linux")).toEqual([
    "xdg-open",
    address,
  ]);
});
