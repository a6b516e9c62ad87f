import { describe, expect, it } from "vitest";
import { z } from "zod";
import { TRUSTED } from "../access/principal.ts";
import { inMemoryEngine } from "../testing/index.ts";
import { accessTo } from "../testing/restricted.ts";
import { compileSchema, validator } from "./compiler.ts";
import { JsonSchemaChecks } from "./index.ts";
import { TimeLimitError, withinTime } from "./time-limit.ts";

const ORDER = {
  type: "object",
  properties: { item: { type: "string" }, amount: { type: "integer", minimum: 1 } },
  required: ["item"],
};

async function engineWith(options: { readonly enforceAll?: boolean } = {}) {
  let enforceAll = options.enforceAll ?? false;
  const engine = await inMemoryEngine({ formats: new JsonSchemaChecks(() => enforceAll) });
  const worker = await engine.connectWorker({ name: "shop" });
  const handled: unknown[] = [];
  const serve = (id: string, members: object): void => {
    worker.serve(id, (data) => handled.push(data));
    worker.say({ type: "registerfunction", id, ...members });
  };
  return {
    engine,
    worker,
    handled,
    serve,
    enforce: (wanted: boolean) => {
      enforceAll = wanted;
    },
  };
}

describe("a function that asks for validation", () => {
  it("gets payloads that fit; others are answered with invalid_input, where it is and what was expected (gap 54)", async () => {
    const { worker, handled, serve } = await engineWith();
    serve("shop::order", { request_format: ORDER, validate: true });
    expect(await worker.call("shop::order", { item: "tea", amount: 2 })).toMatchObject({ result: 1 });
    const mismatches: [unknown, { path: string; expected: string }][] = [
      [{ item: 7 }, { path: "/item", expected: "be string" }],
      [
        { item: "tea", amount: 0 },
        { path: "/amount", expected: "be >= 1" },
      ],
      [{}, { path: "/item", expected: "be there" }],
      ["tea", { path: "", expected: "be object" }],
      [null, { path: "", expected: "be object" }],
    ];
    for (const [payload, problem] of mismatches) {
      const { error } = (await worker.call("shop::order", payload)) as {
        error: { code: string; message: string; details: object };
      };
      expect(error).toMatchObject({ code: "invalid_input", details: { problems: [problem], executed: "no" } });
      expect(error.message).toBe(`shop::order: ${problem.path || "the payload"} must ${problem.expected}`);
    }
    expect(handled).toEqual([{ item: "tea", amount: 2 }]);
  });

  it("is checked by what zod and pydantic write (gap 54)", async () => {
    const { worker, serve } = await engineWith();
    const schema = z.strictObject({
      email: z.email(),
      tags: z.array(z.enum(["a", "b"])).max(2),
      at: z.iso.datetime().optional(),
    });
    serve("zod", { request_format: z.toJSONSchema(schema), validate: true });
    // As pydantic 2 describes a model with a nested model and an optional member.
    const pydantic = {
      $defs: {
        Address: {
          properties: { city: { title: "City", type: "string" } },
          required: ["city"],
          title: "Address",
          type: "object",
        },
      },
      properties: {
        home: { $ref: "#/$defs/Address" },
        age: { anyOf: [{ type: "integer" }, { type: "null" }], default: null, title: "Age" },
      },
      required: ["home"],
      title: "Person",
      type: "object",
    };
    serve("pydantic", { request_format: pydantic, validate: true });
    expect(await worker.call("zod", { email: "a@b.example", tags: ["a"] })).toMatchObject({ error: null });
    expect(await worker.call("zod", { email: "nobody", tags: [] })).toMatchObject({
      error: { details: { problems: [{ path: "/email" }] } },
    });
    expect(await worker.call("zod", { email: "a@b.example", tags: ["c"] })).toMatchObject({
      error: { details: { problems: [{ path: "/tags/0", expected: 'be one of "a", "b"' }] } },
    });
    expect(await worker.call("zod", { email: "a@b.example", tags: [], "a/b": 1 })).toMatchObject({
      error: { details: { problems: [{ path: "/a~1b" }] } },
    });
    expect(await worker.call("pydantic", { home: { city: "Ulm" } })).toMatchObject({ error: null });
    expect(await worker.call("pydantic", { home: {} })).toMatchObject({
      error: { details: { problems: [{ path: "/home/city", expected: "be there" }] } },
    });
  });

  it("does not take what every object inherits for a member", async () => {
    const { worker, serve } = await engineWith();
    serve("f", {
      request_format: { type: "object", required: ["constructor"], properties: { toString: { type: "string" } } },
      validate: true,
    });
    expect(await worker.call("f", {})).toMatchObject({ error: { details: { problems: [{ path: "/constructor" }] } } });
    expect(await worker.call("f", { constructor: 1 })).toMatchObject({ error: null });
    serve("g", {
      request_format: JSON.parse(
        '{"type":"object","properties":{"__proto__":{"type":"string"}},"required":["__proto__"]}',
      ),
      validate: true,
    });
    expect(await worker.call("g", {})).toMatchObject({ error: { code: "invalid_input" } });
  });

  it("is told when its format cannot be enforced, stays registered, and is not checked", async () => {
    const { engine, worker, serve } = await engineWith();
    const formats: [unknown, string][] = [
      [{ type: "strng" }, "type"],
      [{ $ref: "https://example.com/schema.json" }, "leads outside the format"],
      [{ properties: { a: { pattern: "(" } } }, "regular expression"],
      [`a string`, "not a JSON Schema"],
      [{ description: "x".repeat(70_000) }, "70"],
      [JSON.parse(`${'{"not":'.repeat(40)}{}${"}".repeat(40)}`), "deeper than 32"],
      [undefined, "there is none"],
    ];
    for (const [at, [format, reason]] of formats.entries()) {
      const id = `f${at}`;
      serve(id, { request_format: format, validate: true });
      const told = await worker.next(
        (frame) => frame.type === "error" && (frame.error as { details: { id: string } }).details.id === id,
      );
      expect(told).toMatchObject({ error: { code: "format_not_enforced", message: expect.stringContaining(reason) } });
      expect(await worker.call(id, { any: "thing" })).toMatchObject({ error: null });
      expect(engine.directory.functionById(id)).toMatchObject({
        validated: false,
        format_problem: expect.stringContaining(reason),
      });
    }
  });

  it("cannot hold up the engine by a pattern that backtracks for ever (K8)", async () => {
    const { worker, serve } = await engineWith();
    serve("f", { request_format: { type: "string", pattern: "^(a+)+$" }, validate: true });
    const { error } = (await worker.call("f", `${"a".repeat(60)}b`)) as { error: { code: string; message: string } };
    expect(error).toMatchObject({ code: "invalid_input", message: expect.stringContaining("longer than 250 ms") });
    // The format is not tried again for a while, so that it cannot use all of the engine's time.
    expect(await worker.call("f", "aaa")).toMatchObject({ error: { code: "overloaded" } });
    serve("g", { request_format: { type: "string", pattern: "^(b+)+$" }, validate: true });
    expect(await worker.call("g", "bbb")).toMatchObject({ error: null });
  });

  it("of a restricted connection is checked in linear time, and takes a tenth of the engine's time at most, with all its formats", async () => {
    const { engine, worker } = await engineWith();
    const guest = await engine.connectWorker({ access: accessTo(['match("g::*")']) });
    const register = (id: string, request_format: object): void => {
      guest.serve(id, () => "handled");
      guest.say({ type: "registerfunction", id, request_format, validate: true });
    };
    register("g::look", { type: "string", pattern: "^(?=a)b$" });
    const told = await guest.next((frame) => frame.type === "error");
    expect(told).toMatchObject({
      error: { code: "format_not_enforced", message: expect.stringContaining("linear time") },
    });
    for (let index = 0; index < 120; index++) register(`g::${index}`, { type: "string", pattern: `^(a+)+$|x${index}` });
    guest.say({ type: "ping" });
    await guest.next((frame) => frame.type === "pong");
    const answers = await Promise.all(
      Array.from({ length: 120 }, (_, index) => worker.call(`g::${index}`, `${"a".repeat(60)}b`)),
    );
    const errors = answers.map(({ error }) => error as { code: string; message: string });
    expect(errors.filter(({ code }) => code !== "invalid_input" && code !== "overloaded")).toEqual([]);
    // Each JavaScript pattern would block the engine for 250 ms.
    expect(errors.filter(({ message }) => message.includes("takes longer than"))).toEqual([]);

    // Other keywords with more than linear cost count for all formats of the principal.
    register("g::unique", { type: "array", uniqueItems: true });
    const many = Array.from({ length: 3_000 }, (_, index) => ({ index, text: "x".repeat(20) }));
    await expect
      .poll(async () => ((await worker.call("g::unique", many)).error as { code: string } | null)?.code, {
        interval: 1,
      })
      .toBe("overloaded");
  });

  it("may share its $id with another, and replicas share one check", async () => {
    const { worker, serve } = await engineWith();
    serve("f", { request_format: { $id: "https://example.com/x", type: "string" }, validate: true });
    serve("g", { request_format: { $id: "https://example.com/x", type: "number" }, validate: true });
    expect(await worker.call("f", 1)).toMatchObject({ error: { code: "invalid_input" } });
    expect(await worker.call("g", 1)).toMatchObject({ error: null });
  });
});

describe("a function that does not ask", () => {
  it("is not checked, whatever its format says: published clients send formats of their own making (gap 54)", async () => {
    const { worker, serve } = await engineWith();
    serve("f", { request_format: { type: "strng", name: "body" } });
    serve("g", { request_format: ORDER });
    expect(await worker.call("f", 1)).toMatchObject({ error: null });
    expect(await worker.call("g", 1)).toMatchObject({ error: null });
  });

  it("is checked while the engine's setting says so, unless it said no itself or its format cannot be used", async () => {
    const { worker, serve, enforce } = await engineWith({ enforceAll: true });
    serve("f", { request_format: ORDER });
    serve("never", { request_format: ORDER, validate: false });
    serve("own", { request_format: { type: "strng" } });
    serve("without", {});
    expect(await worker.call("f", 1)).toMatchObject({ error: { code: "invalid_input" } });
    for (const id of ["never", "own", "without"]) expect(await worker.call(id, 1)).toMatchObject({ error: null });
    enforce(false);
    expect(await worker.call("f", 1)).toMatchObject({ error: null });
  });
});

describe("the validator that all formats share", () => {
  it("keeps nothing of the formats that it compiled, whatever ids stand in them", () => {
    const checks = new JsonSchemaChecks(() => false);
    const known = Object.keys(validator().refs);
    for (let index = 0; index < 10; index++) {
      const format = { properties: { a: { $id: `http://example.com/${index}`, type: "string" } } };
      expect(checks.checkFor({ format, wanted: true, principal: TRUSTED })?.problem).toBeUndefined();
    }
    expect(Object.keys(validator().refs)).toEqual(known);
  });

  it("is replaced after a compilation that the time limit broke off", () => {
    const before = validator();
    let isCompiling = false;
    const endless = {
      properties: {
        a: {
          get type(): string {
            isCompiling = true;
            for (;;);
          },
        },
      },
    };
    // On a busy machine the limit may end before the compilation has begun, which has no effect.
    while (!isCompiling) expect(() => withinTime(5, () => compileSchema(endless))).toThrow(TimeLimitError);
    expect(validator()).not.toBe(before);
    expect(compileSchema({ type: "string" })("text")).toBe(true);
    expect(validator()).toBe(validator());
  });
});

describe("the time limit", () => {
  /** Waits without using the processor. */
  const sleep = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

  it("does not blame the work for time in which the machine was busy with others", () => {
    let attempts = 0;
    const work = (): string => {
      attempts++;
      if (attempts === 1) sleep(400);
      return "done";
    };
    expect(withinTime(200, work)).toBe("done");
    expect(attempts).toBe(2);
  });

  it("ends after three attempts all the same", () => {
    let attempts = 0;
    const work = (): void => {
      attempts++;
      sleep(400);
    };
    expect(() => withinTime(200, work)).toThrow(TimeLimitError);
    expect(attempts).toBe(3);
  });
});
