import { once } from "node:events";
import { connect } from "node:net";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { post, serve, site } from "./testing/site.ts";

/** Members that differ between any two requests. */
const OF_ONE_REQUEST = ["request_id", "request_body", "response", "trigger", "path", "url"];

function comparable(input: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(input).filter(([name]) => !OF_ONE_REQUEST.includes(name)));
}

/** Sends the pieces one after the other, each when the previous one has left, and resolves with the status and body. */
async function send(url: string, pieces: readonly Buffer[]): Promise<string> {
  const { port } = new URL(url);
  const socket = connect(Number(port), "127.0.0.1");
  socket.setNoDelay(true);
  await once(socket, "connect");
  let text = "";
  const ended = once(socket, "close");
  socket.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  for (const piece of pieces) await new Promise((resolve) => socket.write(piece, () => setImmediate(resolve)));
  await ended;
  return `${text.slice(9, 12)} ${text.slice(text.indexOf("\r\n\r\n") + 4)}`;
}

function piecesOf(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const ends = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  return [...ends, bytes.length].map((end, at) => bytes.subarray(at === 0 ? 0 : ends[at - 1], end));
}

const json = fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.stringify(value));
const body = fc.oneof(json, fc.constantFrom("", "{", '{"a":1', "nul", '"\\ud800"'), fc.string({ maxLength: 40 }));

describe("a request", () => {
  it("means the same whether its body comes with its head, in pieces or in chunks", async () => {
    const { worker, url } = await site({ config: { body_limit_bytes: 200 } });
    await serve(worker, "/echo", ({ body: received }) => ({ body: { received } }), { http_method: "POST" });
    await fc.assert(
      fc.asyncProperty(body, fc.array(fc.nat(), { minLength: 1, maxLength: 3 }), async (text, cuts) => {
        const bytes = Buffer.from(text);
        const head = (more: string) =>
          Buffer.from(
            `POST /echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n${more}\r\n\r\n`,
          );
        const declared = Buffer.concat([head(`Content-Length: ${bytes.length}`), bytes]);
        const chunks = piecesOf(bytes, cuts)
          .filter((piece) => piece.length > 0)
          .map((piece) => Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from("\r\n")]));
        const withoutErrorId = (answer: string) => answer.replace(/"error_id":"[0-9a-f]+"/, "");
        const whole = withoutErrorId(await send(url, [declared]));
        expect(withoutErrorId(await send(url, piecesOf(declared, cuts)))).toBe(whole);
        const chunked = [head("Transfer-Encoding: chunked"), ...chunks, Buffer.from("0\r\n\r\n")];
        expect(withoutErrorId(await send(url, chunked))).toBe(whole);
      }),
      { numRuns: 40 },
    );
  });

  it("reaches the function the same with and without middleware", async () => {
    const { worker, url } = await site();
    worker.serve("mw::none", () => ({ action: "continue" }));
    const seen: Record<string, unknown>[] = [];
    const see = (input: Record<string, unknown>): null => {
      seen.push(comparable(input));
      return null;
    };
    await serve(worker, "/plain/:id", see, { http_method: "POST" });
    await serve(worker, "/around/:id", see, { http_method: "POST", middleware_function_ids: ["mw::none"] });
    const text = fc.constantFrom("a", "b c", "ü", '"', "%", "1");
    const names = fc.constantFrom("x-a", "x-b", "cookie", "user-agent");
    const request = fc.record({
      id: text,
      query: fc.array(fc.tuple(text, text), { maxLength: 3 }),
      headers: fc.uniqueArray(fc.tuple(names, fc.constantFrom("v", "a=1; b=2", 'q"')), {
        selector: ([given]) => given,
      }),
      body: json,
    });
    await fc.assert(
      fc.asyncProperty(request, async ({ id, query, headers, body: sent }) => {
        seen.length = 0;
        const search = new URLSearchParams(query).toString();
        for (const route of ["plain", "around"]) {
          const response = await fetch(`${url}/${route}/${encodeURIComponent(id)}?${search}`, {
            method: "POST",
            headers: { ...Object.fromEntries(headers), "content-type": "application/json" },
            body: sent,
          });
          expect(response.status).toBe(200);
        }
        expect(seen[0]).toEqual(seen[1]);
      }),
      { numRuns: 40 },
    );
  });

  it("is not held up by another one whose body does not arrive", async () => {
    const { worker, url } = await site();
    await serve(worker, "/echo", ({ body: received }) => ({ body: { received } }), { http_method: "POST" });
    const { port } = new URL(url);
    const stalled = connect(Number(port), "127.0.0.1");
    stalled.write(
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 5\r\n\r\n",
    );
    await once(stalled, "connect");
    expect(await (await post(`${url}/echo`, "1")).json()).toEqual({ received: 1 });
    stalled.destroy();
  });
});
