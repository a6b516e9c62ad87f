import { seedsSuite } from "../../testing/seeds-suite.ts";
import { MemorySeeds } from "./memory-seeds.ts";

seedsSuite("memory", async () => {
  const seeds = new MemorySeeds();
  return { one: seeds, other: seeds };
});
