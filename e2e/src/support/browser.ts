import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { type Browser, chromium } from "playwright-core";

/** Program names, in the order they are tried. The headless shell draws no windows and needs a third less CPU time. */
const NAMES = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  // Pages of one origin share a process and its compiled code.
  "--process-per-site",
];

/** Starts a headless Chromium with an empty profile. */
export async function startBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: chromiumPath(), headless: true, args: FLAGS, timeout: 60_000 });
}

/** Returns the path of Chromium: the variable SVC_CHROMIUM, or an executable in PATH. Throws if neither exists. */
function chromiumPath(): string {
  const named = process.env.SVC_CHROMIUM;
  if (named !== undefined && named !== "") return named;
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    for (const name of NAMES) {
      const path = join(folder, name);
      if (isExecutable(path)) return path;
    }
  }
  throw new Error(
    `no Chromium was found (${NAMES.join(", ")} on the PATH): install it, e.g. \`apt-get install chromium\`, or name it in SVC_CHROMIUM`,
  );
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
