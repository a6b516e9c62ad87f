import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";

// The package that `npm pack` makes of the console has to run on its own, with the page.
const root = fileURLToPath(new URL("../../..", import.meta.url));
let folder: string;
let installed: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "svc-console-package-"));
  execFileSync("npm", ["pack", "--silent", "--pack-destination", folder], {
    cwd: join(root, "packages/console"),
    stdio: "ignore",
  });
  const [tarball = ""] = readdirSync(folder);
  execFileSync("tar", ["-xzf", tarball], { cwd: folder });
  installed = join(folder, "package");
  // As an installer would place them.
  for (const name of ["@svc-runtime/protocol", "@svc-runtime/sdk", "commander", "sirv", "ws", "zod"]) {
    const link = join(installed, "node_modules", name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(root, "node_modules", name), link);
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it("contains the program and the page, also compressed, and no tests", () => {
  const files = readdirSync(installed, { recursive: true, encoding: "utf8" }).filter(
    (file) => !file.startsWith("node_modules"),
  );
  expect(files).toEqual(expect.arrayContaining(["bin/svc-console.js", "dist/server/main.js", "dist/web/index.html"]));
  expect(files.some((file) => /^dist\/web\/assets\/.*\.js\.br$/.test(file))).toBe(true);
  expect(files.filter((file) => /\.test|tsbuildinfo|^src/.test(file))).toEqual([]);
});

it("runs, serves the page, and exits with 0 at SIGTERM", async () => {
  const child = spawn(
    process.execPath,
    [
      join(installed, "bin/svc-console.js"),
      "--port",
      "0",
      "--bridge-port",
      "1",
      "--ws-port",
      "1",
      "--engine-port",
      "1",
    ],
    {
      cwd: folder,
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  const closed = once(child, "close");
  let output = "";
  const url = await new Promise<string>((resolve, reject) => {
    child.stderr.on("data", (chunk: Buffer) => {
      output += chunk.toString();
      const found = /^The console is at (\S+)\/workers$/m.exec(output)?.[1];
      if (found !== undefined) resolve(found);
    });
    void closed.then(() => reject(new Error(output)));
  });
  const page = await fetch(url);
  expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
  const script = /src="(\/assets\/[^"]+\.js)"/.exec(await page.text())?.[1] ?? "";
  const loaded = await fetch(`${url}${script}`, { headers: { "accept-encoding": "br" } });
  expect([loaded.status, loaded.headers.get("content-encoding")]).toEqual([200, "br"]);
  child.kill("SIGTERM");
  expect(await closed).toEqual([0, null]);
});
