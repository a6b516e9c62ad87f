import { mkdtempSync, realpathSync, rmdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { commandOf, processesIn } from "../support/processes.ts";
import { openTerminal, type Terminal } from "../support/terminal.ts";

let terminal: Terminal | undefined;
afterEach(async () => {
  await terminal?.close();
  terminal = undefined;
});

it("returns a command's text and status, keeps scrolled-off lines, and accepts keys and a new size", async () => {
  terminal = await openTerminal({ cwd: tmpdir(), columns: 80, rows: 10 });

  expect(await terminal.execute("seq 30; (exit 7)")).toMatchObject({
    status: 7,
    text: expect.stringContaining("\n12\n13\n") as string,
  });
  await terminal.resize({ columns: 60, rows: 20 });
  await terminal.start("trap 'echo stopped; exit 3' INT; stty size; sleep 100");
  await terminal.shows("20 60");
  await terminal.press("C-c");
  await terminal.shows("stopped");
});

it("returns only the first command's text, however late the shell reads its keys", async () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "svc-late-")));
  terminal = await openTerminal({ cwd: folder });
  const [shell] = processesIn(folder).filter((pid) => commandOf(pid).startsWith("bash "));
  if (shell === undefined) throw new Error(`no shell runs in ${folder}`);

  process.kill(shell, "SIGSTOP");
  try {
    await terminal.start("echo said");
  } finally {
    process.kill(shell, "SIGCONT");
    rmdirSync(folder);
  }

  expect((await terminal.ended()).text).toBe("[1 0]$ echo said\nsaid\n");
});

it("fits the help of svc into 80 columns", async () => {
  terminal = await openTerminal({ cwd: tmpdir(), columns: 80, rows: 60 });

  const { status, text } = await terminal.execute("svc worker add --help");

  expect(status).toBe(0);
  expect(text).toContain("Usage: svc worker add");
  expect(text).toContain("Examples:");
});
