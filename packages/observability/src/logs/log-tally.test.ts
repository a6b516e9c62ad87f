import fc from "fast-check";
import { expect, it } from "vitest";
import { NO_FILTER } from "./log-filter.ts";
import { Tally } from "./log-tally.ts";
import { logRecord } from "./testing/records.ts";

const FACETS = ["level", "service", "function_id", "worker"];
const texts = fc.constantFrom("shop::order", "token=abc123", "Bearer abc123def", "", "worker-1");
const attributes = fc.dictionary(
  fc.constantFrom("svc.function_id", "function_id", "svc.worker.name", "password", "note"),
  texts,
);

it("counts masked values as if it masked whole entries", () => {
  fc.assert(
    fc.property(fc.array(attributes), fc.constantFrom([], ["password"], ["function"]), (entries, redactKeys) => {
      const filter = { ...NO_FILTER, redactKeys };
      const partly = new Tally({ filter, facets: FACETS, histogram: undefined });
      // A facet that may be any attribute needs whole entries.
      const wholly = new Tally({ filter, facets: [...FACETS, "note"], histogram: undefined });
      for (const [id, each] of entries.entries())
        for (const tally of [partly, wholly]) tally.add({ id, log: logRecord({ attributes: each }) });
      for (const facet of FACETS) expect(partly.facets.get(facet)).toEqual(wholly.facets.get(facet));
    }),
  );
});
