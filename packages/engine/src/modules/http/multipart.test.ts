import { once } from "node:events";
import { request as httpRequest } from "node:http";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ChannelReader } from "../../kernel/module.ts";
import { manualClock } from "../../testing/index.ts";
import { arrivals, errorOf, held, post, type Site, serve, site } from "./testing/site.ts";

interface FileSeen {
  readonly name: string;
  readonly filename: string | null;
  readonly content_type: string;
  readonly body: unknown;
}

async function bytesOf(reader: ChannelReader): Promise<{ readonly text: string; readonly ended: string }> {
  const pieces: Buffer[] = [];
  for (let item = await reader.read(); item !== undefined; item = await reader.read()) if (item.kind === "binary") pieces.push(item.bytes);
  return { text: Buffer.concat(pieces).toString(), ended: reader.ended };
}

/** A route that answers what it was told, with each file's text. */
async function serveForms({ engine, worker }: Site, config: Record<string, unknown> = {}): Promise<void> {
  await serve(
    worker,
    "/form",
    async ({ body, form, files }) => ({
      body: {
        fields: Object.entries(body as object),
        form: Object.entries(form as object),
        files: await Promise.all((files as FileSeen[]).map(async ({ body: ref, ...facts }) => ({ ...facts, ...(await bytesOf(engine.takeReader(ref))) }))),
      },
    }),
    { http_method: "POST", ...config },
  );
}

const BOUNDARY = "xxBOUNDARYxx";
const TYPE = `multipart/form-data; boundary=${BOUNDARY}`;
const field = (name: string, value: string): string => `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
const file = (name: string, filename: string, text: string): string =>
  `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"; filename="${filename}"\r\nContent-Type: text/csv\r\n\r\n${text}\r\n`;
const END = `--${BOUNDARY}--\r\n`;

describe("a multipart form", () => {
  it("has its fields as strings and its files as channels (gap 23)", async () => {
    const here = await site();
    await serveForms(here);
    const body = [field("a", "1"), file("f", "../../etc/one.csv", "x,y"), field("a", "2"), field("__proto__", "p"), file("g", "", ""), END].join("");
    expect(await (await post(`${here.url}/form`, body, TYPE)).json()).toEqual({
      fields: [
        ["a", "2"],
        ["__proto__", "p"],
      ],
      form: [
        ["a", ["1", "2"]],
        ["__proto__", ["p"]],
      ],
      files: [
        { name: "f", filename: "one.csv", content_type: "text/csv", text: "x,y", ended: "finished" },
        { name: "g", filename: null, content_type: "text/csv", text: "", ended: "finished" },
      ],
    });
    await expect.poll(() => here.engine.kernel.channels.size).toBe(0);
  });

  it("is what the platform's own FormData sends", async () => {
    const here = await site();
    await serveForms(here);
    const form = new FormData();
    form.append("text", "é\r\n");
    form.append("file", new Blob([Buffer.alloc(300_000, "z")], { type: "application/octet-stream" }), "naïve.bin");
    const seen = (await (await fetch(`${here.url}/form`, { method: "POST", body: form })).json()) as {
      fields: unknown;
      files: { filename: string; text: string }[];
    };
    expect(seen.fields).toEqual([["text", "é\r\n"]]);
    expect(seen.files.map(({ filename, text }) => [filename, text.length])).toEqual([["naïve.bin", 300_000]]);
  });

  it("streams a file over the limit that comes last, at the function's pace (gap 23)", async () => {
    const here = await site({ config: { body_limit_bytes: 1_000 } });
    await serveForms(here);
    const body = field("a", "1") + file("small", "s", "s") + file("big", "b", "b".repeat(3_000_000)) + END;
    const seen = (await (await post(`${here.url}/form`, body, TYPE)).json()) as { fields: unknown; files: { text: string; ended: string }[] };
    expect(seen.fields).toEqual([["a", "1"]]);
    expect(seen.files.map(({ text, ended }) => [text.length, ended])).toEqual([
      [1, "finished"],
      [3_000_000, "finished"],
    ]);
  });

  it("tears a file over the limit that is not the last part", async () => {
    const here = await site({ config: { body_limit_bytes: 1_000 } });
    await serveForms(here);
    const body = file("big", "b", "b".repeat(100_000)) + field("late", "1") + END;
    const seen = (await (await post(`${here.url}/form`, body, TYPE)).json()) as { fields: unknown; files: { ended: string }[] };
    expect([seen.fields, seen.files.map(({ ended }) => ended)]).toEqual([[], ["torn"]]);
  });

  it.each([
    ["has no boundary", "multipart/form-data", END, 400],
    ["is cut short", TYPE, field("a", "1").slice(0, -10), 400],
    ["is no form", TYPE, "hello", 400],
    ["has fields over the limit", TYPE, field("a", "x".repeat(2_000)) + END, 413],
    ["has too many fields", TYPE, field("a", "").repeat(1_001) + END, 413],
    ["has too long a name", TYPE, field("n".repeat(300), "1") + END, 400],
    ["has a field without a name", TYPE, `--${BOUNDARY}\r\nContent-Disposition: form-data\r\n\r\n1\r\n${END}`, 400],
    ["has a file without a name", TYPE, `--${BOUNDARY}\r\nContent-Disposition: form-data; filename="f"\r\n\r\n1\r\n${END}`, 400],
    ["has a name without a value", TYPE, `--${BOUNDARY}\r\nContent-Disposition: form-data; name\r\n\r\n1\r\n${END}`, 400],
    ["is in a charset that is not known", `${TYPE}; charset=utf-16`, END, 415],
  ])("that %s is refused", async (_what, type, body, status) => {
    const here = await site({ config: { body_limit_bytes: 1_500 } });
    await serveForms(here);
    const response = await post(`${here.url}/form`, body, type);
    expect([response.status, (await errorOf(response)).code]).toEqual([status, expect.any(String)]);
    await expect.poll(() => here.engine.kernel.channels.size).toBe(0);
  });

  it("is taken or refused, and harms nobody, whatever its parts say of themselves (1.4)", async () => {
    const here = await site({ config: { body_limit_bytes: 100 } });
    const readFiles = ({ files = [] }: Record<string, unknown>) => Promise.all((files as FileSeen[]).map(({ body }) => bytesOf(here.engine.takeReader(body))));
    await serve(here.worker, "/form", readFiles, { http_method: "POST" });
    const head = fc.constantFrom(
      "Content-Disposition: form-data",
      "Content-Disposition: form-data; name",
      'Content-Disposition: form-data; name="a"',
      'Content-Disposition: form-data; name="a"; filename',
      'Content-Disposition: form-data; name="__proto__"; filename="../f"',
      "Content-Disposition: form-data; name*=utf-9''%zz; filename*='",
      "Content-Disposition: ;",
      "Content-Disposition: attachment; name=a",
      "Content-Type: text/plain; charset",
      "Content-Type: ;",
      "Content-Transfer-Encoding:",
      "__proto__: x",
      " folded",
      ":",
    );
    const part = fc
      .tuple(fc.array(head, { maxLength: 3 }), fc.constantFrom("\r\n", "\n", ""), fc.string({ maxLength: 200 }))
      .map(([heads, gap, text]) => `--${BOUNDARY}\r\n${heads.map((line) => `${line}\r\n`).join("")}${gap}${text}\r\n`);
    await fc.assert(
      fc.asyncProperty(fc.array(part, { maxLength: 3 }), fc.constantFrom(END, ""), async (parts, end) => {
        const response = await post(`${here.url}/form`, parts.join("") + end, TYPE);
        await response.arrayBuffer();
        expect([200, 400, 413]).toContain(response.status);
      }),
      { numRuns: 200 },
    );
    await expect.poll(() => here.engine.kernel.channels.size).toBe(0);
  });

  it("makes no channel for a file that nobody comes to read (1.4)", async () => {
    const here = await site();
    const { handle, calls, release } = held();
    await serve(here.worker, "/form", handle, { http_method: "POST" });
    const answer = post(`${here.url}/form`, file("f", "f", "x").repeat(100) + END, TYPE);
    await calls.count(1);
    expect(here.engine.kernel.channels.size).toBe(0);
    const [call = {}] = calls.items;
    const { files } = call.data as { readonly files: readonly FileSeen[] };
    expect(await bytesOf(here.engine.takeReader(files[0]?.body))).toEqual({ text: "x", ended: "finished" });
    // A ref with its direction turned around names an end, but leads nowhere.
    const misused = here.engine.takeWriter({ ...(files[1]?.body as object), direction: "write" });
    expect(here.engine.kernel.channels.size).toBe(1);
    release();
    expect((await answer).status).toBe(200);
    expect(await misused.write({ kind: "text", text: "x" })).toBe(false);
    expect(() => here.engine.takeReader(files[2]?.body)).toThrow("no channel");
    expect(here.engine.kernel.channels.size).toBe(0);
  });

  it("that does not come is not waited for, and one that breaks off is torn (1.4)", async () => {
    const clock = manualClock();
    const here = await site({ clock, config: { body_limit_bytes: 1_000 } });
    const [called, ends] = [arrivals<number>(), arrivals<string>()];
    await serve(
      here.worker,
      "/form",
      async ({ files }) => {
        called.add(1);
        ends.add((await bytesOf(here.engine.takeReader((files as FileSeen[])[0]?.body))).ended);
        return 1;
      },
      { http_method: "POST" },
    );
    const options = { method: "POST", headers: { "content-type": TYPE, "content-length": "100000" }, agent: false } as const;
    const before = clock.pendingTimers;
    const slow = httpRequest(`${here.url}/form`, options).on("error", () => {});
    slow.write(field("a", "1"));
    await expect.poll(() => clock.pendingTimers).toBe(before + 1);
    clock.advance(30_000);
    const [answer] = (await once(slow, "response")) as [{ statusCode: number }];
    expect(answer.statusCode).toBe(408);
    slow.destroy();

    const broken = httpRequest(`${here.url}/form`, options).on("error", () => {});
    broken.write(file("f", "f", "x".repeat(5_000)));
    await called.count(1);
    broken.destroy();
    await ends.count(1);
    expect(ends.items).toEqual(["torn"]);
  });
});
