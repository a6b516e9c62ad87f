import { describe, expect, it, vi } from "vitest";
import type { InvokeAnswer } from "../../../lib/api.ts";
import type { InvokeStore as Store } from "./invoke-store.ts";
import { outcomeOf } from "./outcome.ts";

// The module reads the page's token from the document when it loads.
vi.stubGlobal("document", { querySelector: () => null });
const { InvokeStore } = await import("./invoke-store.ts");

function answer(text: string, status = 200): InvokeAnswer {
  return { status, text, invocationId: "i", traceId: "t" };
}

function held(): { readonly store: Store; readonly sent: string[]; readonly finish: (value: InvokeAnswer) => void } {
  const sent: string[] = [];
  let finish: (value: InvokeAnswer) => void = () => {};
  const store = new InvokeStore((body, signal) => {
    sent.push(body);
    return new Promise((resolve, reject) => {
      finish = resolve;
      signal.addEventListener("abort", () => reject(new DOMException("aborted", "AbortError")));
    });
  });
  return { store, sent, finish: (value) => finish(value) };
}

describe("a typed input", () => {
  it("is not replaced by the proposal of a later schema", () => {
    const { store } = held();
    store.seed("f", '{"a":0}');
    expect(store.get("f").draft.payload).toBe('{"a":0}');
    store.change("f", { payload: '{"mine":1}' });
    store.seed("f", '{"b":0}');
    expect(store.get("f").draft.payload).toBe('{"mine":1}');
  });

  it("is replaced by a new proposal if only the mode was changed", () => {
    const { store } = held();
    store.seed("f", "1");
    store.change("f", { mode: "void" });
    store.seed("f", "2");
    expect(store.get("f").draft).toMatchObject({ payload: "2", mode: "void" });
  });
});

describe("a call", () => {
  it("belongs to its function, whatever is typed or selected in the meantime", async () => {
    const { store, finish } = held();
    store.change("a", { payload: "1" });
    const call = store.run("a");
    store.change("b", { payload: "2" });
    store.change("a", { payload: "3" });
    finish(answer('"done"'));
    await call;
    expect(store.get("b").run).toBeUndefined();
    expect(store.get("a").run).toMatchObject({
      state: "answered",
      draft: { payload: "1" },
      answer: { text: '"done"' },
    });
    expect(store.get("a").draft.payload).toBe("3");
  });

  it("is sent once while one is in flight, and can be cancelled", async () => {
    const { store, sent } = held();
    const call = store.run("a");
    await store.run("a");
    expect(sent).toHaveLength(1);
    store.cancel("a");
    await call;
    expect(outcomeOf(store.get("a").run ?? expect.fail())).toMatchObject({ kind: "cancelled" });
  });

  it.each(["0", "false", "null", '""', "9007199254740993"])("that returns %s has it as its result", async (text) => {
    const { store, finish } = held();
    const call = store.run("a");
    finish(answer(text));
    await call;
    expect(outcomeOf(store.get("a").run ?? expect.fail())).toMatchObject({ kind: "ok", result: text });
  });

  it.each([
    [
      answer('{"error":{"code":"out_of_stock","message":"only 3","details":{"stack":"at x","left":3}}}', 500),
      { code: "out_of_stock", message: "only 3", stack: "at x" },
    ],
    [answer("<html>bad gateway</html>", 502), { code: "HTTP 502", message: "<html>bad gateway</html>" }],
  ])("that fails reports the available details", async (given, error) => {
    const { store, finish } = held();
    const call = store.run("a");
    finish(given);
    await call;
    expect(outcomeOf(store.get("a").run ?? expect.fail())).toMatchObject({ kind: "error", error });
  });

  it("keeps calls in flight when old sessions are evicted", async () => {
    const { store, finish } = held();
    const call = store.run("first");
    for (let n = 0; n < 200; n++) store.change(`f${n}`, { payload: String(n) });
    finish(answer("1"));
    await call;
    expect(store.get("first").run?.state).toBe("answered");
    expect(store.get("f0").draft.payload).toBe("{}");
  });
});
