// @vitest-environment happy-dom
import { expect, it, onTestFinished, vi } from "vitest";
import { batchedCall } from "./batched-call.ts";

interface Sent {
  readonly path: string;
  readonly ids: readonly string[];
  /** Writes lines of the response. */
  write(...lines: readonly object[]): void;
  end(): void;
}

/** Records the requests of the page. Their responses are written by the test. */
function recordRequests(): readonly Sent[] {
  const sent: Sent[] = [];
  vi.stubGlobal("fetch", async (path: string, { body }: { readonly body: string }) => {
    const { calls, function_id } = JSON.parse(body) as {
      readonly calls?: readonly { readonly function_id: string }[];
      readonly function_id?: string;
    };
    let stream: ReadableStreamDefaultController<Uint8Array> | undefined;
    const response = new Response(
      new ReadableStream<Uint8Array>({
        start(controller) {
          stream = controller;
        },
      }),
    );
    sent.push({
      path,
      ids: calls?.map((call) => call.function_id) ?? [function_id ?? ""],
      write: (...lines) =>
        stream?.enqueue(new TextEncoder().encode(lines.map((line) => `${JSON.stringify(line)}\n`).join(""))),
      end: () => stream?.close(),
    });
    return response;
  });
  onTestFinished(() => void vi.unstubAllGlobals());
  return sent;
}

it("sends calls of the same time as one request, and gives each its answer as soon as it arrives", async () => {
  const sent = recordRequests();
  const calls = ["a::a", "b::b", "c::c"].map((id) => batchedCall<string>(id, {}));
  await vi.waitFor(() =>
    expect(sent.map(({ path, ids }) => [path, ids])).toEqual([["/api/calls", ["a::a", "b::b", "c::c"]]]),
  );
  const [request] = sent;
  request?.write({ at: 2, ok: true, data: "third" });
  expect(await calls[2]).toBe("third");
  request?.write({ at: 0, ok: true, data: "first é" }, { at: 1, ok: false, error: { code: "x", message: "failed" } });
  request?.end();
  expect(await calls[0]).toBe("first é");
  await expect(calls[1]).rejects.toMatchObject({ what: "b::b", code: "x", message: "failed" });
});

it("fails the calls that have no answer when the response ends early", async () => {
  const sent = recordRequests();
  const calls = ["a::a", "b::b"].map((id) => batchedCall<number>(id, {}));
  await vi.waitFor(() => expect(sent).toHaveLength(1));
  sent[0]?.write({ at: 1, ok: true, data: 2 });
  sent[0]?.end();
  expect(await calls[1]).toBe(2);
  await expect(calls[0]).rejects.toMatchObject({ what: "a::a", code: "network" });
});

it("sends a single call as such, and none that was aborted before", async () => {
  const sent = recordRequests();
  const aborted = new AbortController();
  const unwanted = batchedCall("a::a", {}, { signal: aborted.signal });
  const wanted = batchedCall<number>("b::b", {});
  aborted.abort();
  await expect(unwanted).rejects.toThrow("aborted");
  await vi.waitFor(() => expect(sent.map(({ path, ids }) => [path, ids])).toEqual([["/api/call", ["b::b"]]]));
  sent[0]?.write({ ok: true, data: 3 });
  sent[0]?.end();
  expect(await wanted).toBe(3);
});
