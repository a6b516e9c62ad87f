import { type FunctionId, Payload } from "@svc-runtime/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { type InMemoryEngine, inMemoryEngine } from "../testing/index.ts";
import { defineModule } from "./module.ts";

let engine: InMemoryEngine;

const raw = z.custom<Payload>((value) => value instanceof Payload).optional();

const echo = defineModule({
  name: "echo",
  summary: "Answers the text of what it was handed unread",
  config: z.unknown(),
  start(context) {
    context.provideFunction({
      id: "echo::texts",
      summary: "Texts of value and of the items' values",
      input: z.object({ value: raw, items: z.array(z.object({ value: raw, key: z.string() })).optional() }),
      rawMembers: ["value", "items[].value"],
      handle: ({ value, items }) => ({
        value: value?.text() ?? null,
        items: items?.map((item) => `${item.key}=${item.value?.text()}`) ?? null,
      }),
    });
    return { stop() {} };
  },
});

beforeAll(async () => {
  engine = await inMemoryEngine({ modules: [echo] });
});
afterAll(() => engine.stop());

async function texts(payload: string): Promise<unknown> {
  return (await engine.kernel.router.call("echo::texts" as FunctionId, Payload.fromText(payload))).value();
}

describe("members that a function of a module gets unread", () => {
  it("have the text that came", async () => {
    expect(await texts('{ "value" : 9007199254740993 , "more":[1] }')).toEqual({
      value: "9007199254740993",
      items: null,
    });
    expect(await texts('{"value":{"__proto__":1.0},"value":[ 1e400 ]}')).toEqual({ value: "[ 1e400 ]", items: null });
    expect(await texts('{"value":null}')).toEqual({ value: "null", items: null });
    expect(await texts('{"\\u0076alue":0}')).toEqual({ value: "0", items: null });
  });

  it("may be those of each element of a list", async () => {
    expect(
      await texts(
        '{"items":[ {"key":"a","value":12345678901234567890} ,{"value":"]","key":"b"}, {"key":"c"},{"key":"d","value":true}]}',
      ),
    ).toEqual({
      value: null,
      items: ["a=12345678901234567890", 'b="]"', "c=undefined", "d=true"],
    });
    expect(await texts('{"items":[]}')).toEqual({ value: null, items: [] });
  });

  it.each(['{"items":5}', '{"items":[5]}', "[1]", '"text"'])(
    "leave %s for the function's schema to refuse",
    async (payload) => {
      await expect(texts(payload)).rejects.toMatchObject({ code: "invalid_input" });
    },
  );

  it("come in payloads of at most 136 levels; deeper ones are refused by every function, and what is no JSON", async () => {
    const nested = (levels: number): string => "[".repeat(levels) + "]".repeat(levels);
    expect(await texts(`{"value":${nested(135)}}`)).toEqual({ value: nested(135), items: null });
    for (const levels of [136, 10_000, 1_000_000]) {
      await expect(texts(`{"value":${nested(levels)}}`)).rejects.toMatchObject({
        code: "invalid_input",
        message: "echo::texts: the payload is nested deeper than 136 levels",
      });
    }
    await expect(texts('{"value":01}')).rejects.toMatchObject({ code: "invalid_message" });
  });
});
