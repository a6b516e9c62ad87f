import { expect, it } from "vitest";
import { openStore } from "./open-store.ts";
import { isRefusal, Refusal } from "./procedures.ts";
import { appliedSuite } from "./testing/applied-suite.ts";

const procedures = new URL("./testing/ledger-procedures.js", import.meta.url);
appliedSuite("a store in memory", () => openStore({ file: undefined, procedures }));

it("knows a refusal of procedures that import the class a second time, as in the bundled engine", async () => {
  const copy: string = "./procedures.js?copy";
  const { Refusal: Second } = (await import(copy)) as { readonly Refusal: typeof Refusal };
  const refusal = new Second("job_not_found", "there is no such job");
  expect([refusal instanceof Refusal, isRefusal(refusal)]).toEqual([false, true]);
  expect(isRefusal(new Error("job_not_found"))).toBe(false);
});
