import { describe, expect, it } from "vitest";
import { parseOptions, ROWS, UsageError } from "./options.ts";

describe("options", () => {
  it("measure all rows in five rounds when nothing is said", () => {
    expect(parseOptions([])).toEqual({
      rows: new Set(ROWS),
      rounds: 5,
      warmUpMs: 300,
      measureMs: 1000,
      quick: false,
      strict: false,
      peers: false,
      engine: "svc",
      profile: false,
    });
  });

  it("take a list of rows", () => {
    expect(parseOptions(["--rows", "1, 2,4"])?.rows).toEqual(new Set([1, 2, 4]));
    expect(parseOptions(["--rows", "26"])?.rows).toEqual(new Set([26]));
  });

  it("shorten everything for a quick run", () => {
    expect(parseOptions(["--quick"])).toMatchObject({ rounds: 2, measureMs: 300, quick: true });
    expect(parseOptions(["--quick", "--rounds", "3"])).toMatchObject({ rounds: 3 });
  });

  it("give nothing when help is asked for", () => {
    expect(parseOptions(["--help"])).toBeUndefined();
  });

  for (const args of [["--rows", "99"], ["--rows", "one"], ["--rounds", "0"], ["--rounds", "x"], ["--engine", "fast"], ["--unknown"], ["stray"]]) {
    it(`refuse ${args.join(" ")} and say what is expected`, () => {
      expect(() => parseOptions(args)).toThrow(UsageError);
    });
  }
});
