import { describe } from "vitest";
import type { Clock } from "../../kernel/clock.ts";
import type { ItemStore } from "../item-store.ts";
import { appliedTests } from "./suite/applied.ts";
import { closingTests } from "./suite/closing.ts";
import { expiryTests } from "./suite/expiry.ts";
import { Suite } from "./suite/harness.ts";
import { listingTests } from "./suite/listing.ts";
import { manyTests } from "./suite/many.ts";
import { orderTests } from "./suite/order.ts";
import { outboxTests } from "./suite/outbox.ts";
import { updateTests } from "./suite/updates.ts";
import { valueTests } from "./suite/values.ts";

/**
 * Tests of the guarantees of every adapter. `open` returns an empty adapter that uses the clock's wall time (its timers
 * are real). The suite closes it.
 */
export function itemStoreSuite(name: string, open: (clock: Clock) => Promise<ItemStore>): void {
  describe(`item store ${name}`, () => {
    const suite = new Suite(open);
    valueTests(suite);
    orderTests(suite);
    listingTests(suite);
    updateTests(suite);
    expiryTests(suite);
    manyTests(suite);
    outboxTests(suite);
    appliedTests(suite);
    closingTests(suite);
  });
}
