import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { recordedShell } from "../shell.test-support.ts";
import { jsonFromFile, textOfFile, textOfStdin } from "./json-input.ts";

const SOURCE = { noun: "value", example: "1" };
const NO_TEXT = Uint8Array.of(0x61, 0xff, 0xfe);
let cwd: string;

beforeAll(() => {
  cwd = mkdtempSync(join(tmpdir(), "svc-input-"));
});

afterAll(() => rmSync(cwd, { recursive: true, force: true }));

describe("the input of a command", () => {
  it("is limited even if its size is unknown", async () => {
    await expect(textOfFile(recordedShell({ cwd }), "/dev/zero")).rejects.toThrow("/dev/zero is longer than 16 MiB");
    await expect(textOfStdin(recordedShell({ stdin: new Uint8Array(17 * 1024 * 1024) }), "value")).rejects.toThrow(
      "standard input is longer than 16 MiB",
    );
  });

  it("is rejected if it is not text", async () => {
    writeFileSync(join(cwd, "bytes"), NO_TEXT);
    await expect(textOfFile(recordedShell({ cwd }), "bytes")).rejects.toThrow("bytes is not UTF-8 text");
    await expect(textOfStdin(recordedShell({ stdin: NO_TEXT }), "value")).rejects.toThrow(
      "standard input is not UTF-8 text",
    );
  });

  it("may start with a byte order mark", async () => {
    writeFileSync(join(cwd, "marked.json"), '\ufeff{"a":1}');
    expect(await jsonFromFile(recordedShell({ cwd }), "marked.json", SOURCE)).toBe('{"a":1}');
    expect(await jsonFromFile(recordedShell({ stdin: "\ufeff[1]" }), "-", SOURCE)).toBe("[1]");
  });

  it("has an error with the reason if it cannot be read", async () => {
    await expect(textOfFile(recordedShell({ cwd }), "none")).rejects.toThrow(
      "none cannot be read: there is no such file",
    );
    await expect(textOfFile(recordedShell({ cwd }), ".")).rejects.toThrow(". cannot be read: it is a folder");
  });
});
