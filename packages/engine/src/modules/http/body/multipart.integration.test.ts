import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ChannelReader } from "../../../kernel/module.ts";
import { manualClock } from "../../../testing/index.ts";
import { errorOf, held, post, type Site, serve, site } from "../testing/site.ts";

interface FileSeen {
  readonly name: string;
  readonly filename: string | null;
  readonly content_type: string;
  readonly body: unknown;
}

interface Seen {
  readonly form: unknown;
  readonly files: readonly { readonly name: string; readonly text: string; readonly ended: string }[];
}

async function bytesOf(reader: ChannelReader): Promise<{ readonly text: string; readonly ended: string }> {
  const pieces: Buffer[] = [];
  for (let item = await reader.read(); item !== undefined; item = await reader.read())
    if (item.kind === "binary") pieces.push(item.bytes);
  return { text: Buffer.concat(pieces).toString(), ended: reader.ended };
}

/** A route that returns its input, with each file's text. */
async function serveForms(
  { engine, worker }: Site,
  config: Record<string, unknown> = {},
  onCall: () => void = () => {},
): Promise<void> {
  await serve(
    worker,
    "/form",
    async ({ body, form, files }) => {
      onCall();
      return {
        body: {
          fields: Object.entries(body as object),
          form: Object.entries(form as object),
          files: await Promise.all(
            (files as FileSeen[]).map(async ({ body: ref, ...facts }) => ({
              ...facts,
              ...(await bytesOf(engine.takeReader(ref))),
            })),
          ),
        },
      };
    },
    { http_method: "POST", ...config },
  );
}

const BOUNDARY = "xxBOUNDARYxx";
const TYPE = `multipart/form-data; boundary=${BOUNDARY}`;
const field = (name: string, value: string): string =>
  `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
const file = (name: string, filename: string, text: string): string =>
  `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"; filename="${filename}"\r\nContent-Type: text/csv\r\n\r\n${text}\r\n`;
const END = `--${BOUNDARY}--\r\n`;

describe("a multipart form", () => {
  it("has its fields as strings and its files as channels (gap 23)", async () => {
    const here = await site();
    await serveForms(here);
    const body = [
      field("a", "1"),
      file("f", "../../etc/one.csv", "x,y"),
      field("a", "2"),
      field("__proto__", "p"),
      file("g", "", ""),
      END,
    ].join("");
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

  it("may have files over the limit anywhere, and many of them: they wait on the disk, which is empty again after the answer (gap 23)", async () => {
    const dataDir = mkdtempSync(join(tmpdir(), "svc-forms-"));
    const here = await site({ config: { body_limit_bytes: 1_000 }, dataDir });
    const onDisk: unknown[] = [];
    await serveForms(here, {}, () => {
      for (const name of readdirSync(join(dataDir, "http-forms")))
        onDisk.push(statSync(join(dataDir, "http-forms", name)).mode & 0o777);
    });
    const sizes = [3_000_000, 1, 0, 900, 200_000, 70_000, 3];
    const parts = sizes.map(
      (size, at) => file(`f${at}`, `${at}.csv`, String(at).repeat(size)) + field("n", String(at)),
    );
    const seen = (await (await post(`${here.url}/form`, parts.join("") + END, TYPE)).json()) as Seen;
    expect(seen.form).toEqual([["n", sizes.map((_size, at) => String(at))]]);
    expect(seen.files.map(({ name, text, ended }) => [name, text.length, new Set(text).size, ended])).toEqual(
      sizes.map((size, at) => [`f${at}`, size, Math.min(size, 1), "finished"]),
    );
    expect(seen.files.map(({ text }) => text[0] ?? "")).toEqual(
      sizes.map((size, at) => (size === 0 ? "" : String(at))),
    );
    // Other users cannot read it.
    expect(onDisk).toEqual([0o600]);
    await expect.poll(() => readdirSync(join(dataDir, "http-forms"))).toEqual([]);
  });

  it("that fits in memory touches no disk", async () => {
    const dataDir = mkdtempSync(join(tmpdir(), "svc-forms-"));
    const here = await site({ dataDir });
    const listDisk = (): readonly string[] => readdirSync(dataDir, { recursive: true, encoding: "utf8" }).sort();
    let during: unknown;
    await serveForms(here, {}, () => {
      during = listDisk();
    });
    // Serving a route stores it.
    const before = ["http-reserved-routes.json"];
    await expect.poll(listDisk).toEqual(before);
    await (
      await post(`${here.url}/form`, file("f", "f", "x".repeat(900_000)) + field("a", "1") + END, TYPE)
    ).arrayBuffer();
    expect([during, listDisk()]).toEqual([before, before]);
  });

  it("over form_limit_bytes is answered 413 that names it, by what it declares and by what comes", async () => {
    const dataDir = mkdtempSync(join(tmpdir(), "svc-forms-"));
    const here = await site({ config: { body_limit_bytes: 1_000, form_limit_bytes: 100_000 }, dataDir });
    await serveForms(here);
    await serve(here.worker, "/small", () => 1, { http_method: "POST", form_limit_bytes: 50_000 });
    const body = file("f", "f", "x".repeat(150_000)) + END;
    const chunked = {
      method: "POST",
      body: new Blob([body]).stream(),
      headers: { "content-type": TYPE },
      duplex: "half",
    } as RequestInit;
    const refused = [
      await post(`${here.url}/form`, body, TYPE),
      await fetch(`${here.url}/form`, chunked),
      await post(`${here.url}/small`, body, TYPE),
    ];
    expect(
      await Promise.all(refused.map(async (response) => [response.status, (await errorOf(response)).message])),
    ).toEqual([
      [413, "the form is over the limit of 100000 bytes (form_limit_bytes of svc-http)"],
      [413, "the form is over the limit of 100000 bytes (form_limit_bytes of svc-http)"],
      [413, "the form is over the limit of 50000 bytes (form_limit_bytes of the route)"],
    ]);
    await expect.poll(() => readdirSync(join(dataDir, "http-forms"))).toEqual([]);
  });

  it("whose files the disk does not take is answered 503", async () => {
    const dataDir = mkdtempSync(join(tmpdir(), "svc-forms-"));
    const here = await site({ config: { body_limit_bytes: 1_000 }, dataDir });
    await serveForms(here);
    // A file is where the folder should be created.
    writeFileSync(join(dataDir, "http-forms"), "");
    const response = await post(`${here.url}/form`, file("f", "f", "x".repeat(150_000)) + END, TYPE);
    const { code, message } = await errorOf(response);
    expect([response.status, code, message]).toEqual([503, "storage_failed", expect.not.stringContaining(dataDir)]);
    expect(here.engine.logs.some(({ level, fields }) => level === "error" && fields.code === "storage_failed")).toBe(
      true,
    );
  });

  it("leaves nothing on the disk when its client is killed, or the engine was", async () => {
    const dataDir = mkdtempSync(join(tmpdir(), "svc-forms-"));
    const folder = join(dataDir, "http-forms");
    mkdirSync(folder);
    writeFileSync(join(folder, "left-behind"), "x");
    const here = await site({ config: { body_limit_bytes: 1_000 }, dataDir });
    expect(existsSync(folder)).toBe(false);
    await serveForms(here);
    const options = { method: "POST", headers: { "content-type": TYPE }, agent: false } as const;
    const broken = httpRequest(`${here.url}/form`, options).on("error", () => {});
    broken.write(file("f", "f", "x".repeat(5_000)) + file("g", "g", "x".repeat(5_000)));
    await expect.poll(() => existsSync(folder) && readdirSync(folder).length).toBe(1);
    broken.destroy();
    await expect.poll(() => readdirSync(folder)).toEqual([]);
  });

  it("is read at the function's pace, and gives it its timeout anew while it reads", async () => {
    const clock = manualClock();
    const here = await site({ clock, config: { body_limit_bytes: 1_000 } });
    let pieces = 0;
    await serve(
      here.worker,
      "/form",
      async ({ files }) => {
        const reader = here.engine.takeReader((files as FileSeen[])[0]?.body);
        for (let item = await reader.read(); item !== undefined; item = await reader.read()) {
          pieces++;
          clock.advance(20_000);
          await new Promise((resolve) => setImmediate(resolve));
        }
        return reader.ended;
      },
      { http_method: "POST" },
    );
    const size = 4_000_000;
    const response = await post(`${here.url}/form`, file("f", "f", "x".repeat(size)) + END, TYPE);
    expect([response.status, await response.json()]).toEqual([200, "finished"]);
    expect(pieces).toBeGreaterThan(50);
  });

  it.each([
    ["has no boundary", "multipart/form-data", END, 400],
    ["is cut short", TYPE, field("a", "1").slice(0, -10), 400],
    ["is cut short in a file", TYPE, file("f", "f", "x".repeat(5_000)), 400],
    ["is no form", TYPE, "hello", 400],
    ["has fields over the limit", TYPE, field("a", "x".repeat(2_000)) + END, 413],
    ["has too many fields", TYPE, field("a", "").repeat(1_001) + END, 413],
    ["has too long a name", TYPE, field("n".repeat(300), "1") + END, 400],
    ["has a field without a name", TYPE, `--${BOUNDARY}\r\nContent-Disposition: form-data\r\n\r\n1\r\n${END}`, 400],
    [
      "has a file without a name",
      TYPE,
      `--${BOUNDARY}\r\nContent-Disposition: form-data; filename="f"\r\n\r\n1\r\n${END}`,
      400,
    ],
    [
      "has a name without a value",
      TYPE,
      `--${BOUNDARY}\r\nContent-Disposition: form-data; name\r\n\r\n1\r\n${END}`,
      400,
    ],
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
    const readFiles = ({ files = [] }: Record<string, unknown>) =>
      Promise.all((files as FileSeen[]).map(({ body }) => bytesOf(here.engine.takeReader(body))));
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
      { numRuns: 60 },
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
    // A ref with the other direction names an end, but is not usable.
    const misused = here.engine.takeWriter({ ...(files[1]?.body as object), direction: "write" });
    expect(here.engine.kernel.channels.size).toBe(1);
    release();
    expect((await answer).status).toBe(200);
    expect(await misused.write({ kind: "text", text: "x" })).toBe(false);
    expect(() => here.engine.takeReader(files[2]?.body)).toThrow("no channel");
    expect(here.engine.kernel.channels.size).toBe(0);
  });

  it("that does not come is not waited for (1.4)", async () => {
    const clock = manualClock();
    const here = await site({ clock });
    await serveForms(here);
    const before = clock.pendingTimers;
    const slow = httpRequest(`${here.url}/form`, {
      method: "POST",
      headers: { "content-type": TYPE },
      agent: false,
    }).on("error", () => {});
    slow.write(field("a", "1"));
    await expect.poll(() => clock.pendingTimers).toBe(before + 1);
    clock.advance(30_000);
    const [answer] = (await once(slow, "response")) as [{ statusCode: number }];
    expect(answer.statusCode).toBe(408);
    slow.destroy();
  });

  it.each([
    ["keeps coming is waited for", 32 * 1024, 200],
    ["trickles is not waited for (1.4)", 1, 408],
  ])("that %s", async (_what, bytes, status) => {
    const clock = manualClock();
    const dataDir = mkdtempSync(join(tmpdir(), "svc-forms-"));
    const here = await site({ clock, config: { body_limit_bytes: 1_000 }, dataDir });
    await serveForms(here);
    const onDisk = (): number => {
      const folder = join(dataDir, "http-forms");
      const [name] = existsSync(folder) ? readdirSync(folder) : [];
      return name === undefined ? 0 : statSync(join(folder, name)).size;
    };
    const slow = httpRequest(`${here.url}/form`, {
      method: "POST",
      headers: { "content-type": TYPE },
      agent: false,
    }).on("error", () => {});
    const answer = once(slow, "response") as Promise<[{ statusCode: number }]>;
    // The end of a part is known only with the following boundary, so the parser buffers some bytes.
    slow.write(file("f", "f", "x".repeat(4_000)).slice(0, -2));
    await expect.poll(onDisk).toBeGreaterThan(3_000);
    for (let piece = 1; piece <= 4 && !slow.destroyed; piece++) {
      clock.advance(14_000);
      slow.write("y".repeat(bytes));
      if (bytes > 1) await expect.poll(onDisk).toBeGreaterThan(3_000 + (piece - 1) * bytes);
    }
    slow.end(`\r\n${END}`);
    expect((await answer)[0].statusCode).toBe(status);
    slow.destroy();
  });
});
