import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type RecordedShell, recordedShell } from "../shell.test-support.ts";
import { offerManifest } from "./offer-manifest.ts";

let folder: string;
const manifest = (): string => join(folder, "svc.worker.yaml");
const offer = (shell: RecordedShell, yes = false): Promise<void> =>
  offerManifest(shell, { kind: "local", folder, shown: "./shop" }, { yes });

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "svc-offer-"));
  writeFileSync(join(folder, "requirements.txt"), "");
  writeFileSync(join(folder, "main.py"), "");
});
afterEach(() => rmSync(folder, { recursive: true }));

it("proposes a manifest for a project without one, asks, and writes it", async () => {
  const shell = recordedShell({ answers: [""] });
  await offer(shell);
  expect(shell.written.notes).toMatch(
    /\.\/shop has no svc\.worker\.yaml\. With its requirements\.txt it looks like a python worker\. Proposed manifest:\n\n(?: {2}.*\n)+\nWrite it\? \[Y\/n\] /,
  );
  expect(shell.written.notes).toContain(readFileSync(manifest(), "utf8").replaceAll(/^(?=.)/gm, "  "));
});

it("wraps the text on a narrow terminal, but not the manifest", async () => {
  const shell = recordedShell({ answers: [""], noteColumns: 60 });
  await offer(shell);
  const [said = ""] = shell.written.notes.split("\n\n", 1);
  expect(said.split("\n").filter((line) => line.length > 60)).toEqual([]);
  expect(shell.written.notes).toContain(readFileSync(manifest(), "utf8").replaceAll(/^(?=.)/gm, "  "));
});

it.each([["n"], []])("writes nothing when the answer is not yes: %j", async (...answers) => {
  const shell = recordedShell({ answers });
  await expect(offer(shell)).rejects.toThrow("Nothing was changed.");
  expect(existsSync(manifest())).toBe(false);
});

it("does not ask with --yes or without a terminal, and reports what it wrote", async () => {
  const asked = recordedShell({ answers: ["n"] });
  await offer(asked, true);
  expect(asked.written.notes).not.toContain("Write it?");
  rmSync(manifest());
  const shell = recordedShell();
  await offer(shell);
  expect(shell.written.notes).toContain("shop/svc.worker.yaml was written");
  expect(existsSync(manifest())).toBe(true);
});

it("does not change a folder with a manifest, and explains an ambiguous folder", async () => {
  writeFileSync(manifest(), "name: mine\n");
  const shell = recordedShell();
  await offer(shell);
  expect([readFileSync(manifest(), "utf8"), shell.written.notes]).toEqual(["name: mine\n", ""]);
  rmSync(manifest());
  writeFileSync(join(folder, "go.mod"), "");
  await expect(offer(shell)).rejects.toThrow("it has go.mod and requirements.txt");
});
