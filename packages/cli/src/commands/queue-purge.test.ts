import { expect, it } from "vitest";
import { purgeWaiting } from "./queue-purge.ts";

it("purges nothing if no job waited when it checked", async () => {
  const asked: string[] = [];
  const engine = {
    call: async <Result>({ function_id }: { readonly function_id?: string | undefined }): Promise<Result> => {
      asked.push(function_id ?? "");
      // A job that arrived between the check and the purge.
      return { waiting: 0, delayed: 0, purged: 1 } as Result;
    },
  };
  expect(await purgeWaiting(engine, "default", () => expect.unreachable())).toBe(0);
  expect(asked).toEqual(["queue::stats"]);
});
