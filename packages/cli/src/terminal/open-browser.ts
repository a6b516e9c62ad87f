import { spawn } from "node:child_process";
import type { Shell } from "../shell.ts";

/**
 * Returns the command that opens an address in the user's browser. Returns undefined if the user probably has no screen
 * here.
 */
export function browserCommand(
  address: string,
  shell: Pick<Shell, "env" | "noteColumns">,
  platform: NodeJS.Platform,
): readonly string[] | undefined {
  const { env, noteColumns } = shell;
  if (noteColumns === undefined || (env.CI ?? "") !== "" || (env.SSH_CONNECTION ?? "") !== "") return undefined;
  if (platform === "darwin") return ["open", address];
  if (platform === "win32") return ["explorer.exe", address];
  const hasScreen = (env.DISPLAY ?? "") !== "" || (env.WAYLAND_DISPLAY ?? "") !== "";
  return hasScreen ? ["xdg-open", address] : undefined;
}

/**
 * Opens the address in a browser. Returns false if there is no browser. Failures are ignored, because the address is
 * also printed.
 */
export function openBrowser(address: string, shell: Pick<Shell, "env" | "noteColumns">): boolean {
  const [program, ...args] = browserCommand(address, shell, process.platform) ?? [];
  if (program === undefined) return false;
  const child = spawn(program, args, { stdio: "ignore", detached: true });
  child.on("error", () => {});
  child.unref();
  return true;
}
