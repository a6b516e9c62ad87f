import { expect, it } from "vitest";
import { purgeWaiting } from "./queue-purge.ts";

it("leaves a queue alone in which nothing waited when it looked", async () => {
  const asked: string[] = [];
  const engine = {
    call: async <Result>({ function_id }: { readonly function_id: string }): Promise<Result> => {
      asked.push(function_id);
      // Another one came by the time of the purge.
      return { waiting: 0, delayed: 0, purged: 1 } as Result;
    },
  };
  expect(await purgeWaiting(engine, "default", () => expect.unreachable())).toBe(0);
  expect(asked).toEqual(["queue::stats"]);
});
