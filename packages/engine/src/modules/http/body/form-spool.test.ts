import { mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { silentLogger } from "../../../kernel/logger.ts";
import { Refusal } from "../refusal.ts";
import { FileContent } from "./file-content.ts";
import { FormSpools } from "./form-spool.ts";

function spools(maxBytes?: number): { readonly spools: FormSpools; files(): string[] } {
  const dataDir = mkdtempSync(join(tmpdir(), "svc-spools-"));
  return {
    spools: new FormSpools({ dataDir, log: silentLogger, ...(maxBytes === undefined ? {} : { maxBytes }) }),
    files: () => readdirSync(join(dataDir, "http-forms")),
  };
}

async function textOf(content: FileContent): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const bytes of content.pieces()) pieces.push(bytes);
  return Buffer.concat(pieces).toString();
}

it("keeps files apart whose pieces came mixed", async () => {
  const { spools: all } = spools();
  const spool = all.create();
  const [a, b] = [new FileContent(), new FileContent()];
  a.hold(Buffer.from("a1"));
  a.hold(Buffer.from("a2"));
  b.hold(Buffer.from("b1"));
  const written = [a.spill(spool), b.spill(spool)];
  for (let piece = 0; piece < 50; piece++) {
    written.push(a.append(spool, Buffer.alloc(5_000, "a")));
    if (piece % 3 === 0) written.push(b.append(spool, Buffer.from("b")));
  }
  await Promise.all(written);
  expect(await textOf(a)).toBe(`a1a2${"a".repeat(250_000)}`);
  expect(await textOf(b)).toBe(`b1${"b".repeat(17)}`);
  spool.remove();
  await all.settled();
});

it("lets all forms together have only so much of the disk, and gives back what they had", async () => {
  const { spools: all, files } = spools(100);
  const [first, second] = [all.create(), all.create()];
  await new FileContent().append(first, Buffer.alloc(60));
  const refused = await new FileContent().append(second, Buffer.alloc(60)).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(Refusal);
  expect((refused as Refusal).failure).toMatchObject({ status: 503, code: "overloaded" });
  first.remove();
  first.remove();
  await new FileContent().append(second, Buffer.alloc(60));
  second.remove();
  await all.settled();
  expect(files()).toEqual([]);
});

it("cannot be read once it is removed, though it is removed while it is written", async () => {
  const { spools: all, files } = spools();
  const spool = all.create();
  const content = new FileContent();
  const written = content.append(spool, Buffer.alloc(1_000_000));
  spool.remove();
  await Promise.allSettled([written]);
  await all.settled();
  expect(files()).toEqual([]);
  await expect(textOf(content)).rejects.toThrow("the form is over");
});
