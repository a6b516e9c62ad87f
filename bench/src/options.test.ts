import { describe, expect, it } from "vitest";
import { parseOptions, ROWS, UsageError } from "./options.ts";

describe("options", () => {
  it("measure all rows in five rounds by default", () => {
    expect(parseOptions([])).toEqual({
      rows: new Set(ROWS),
      rounds: 5,
      warmUpMs: 300,
      measureMs: 1000,
      quick: false,
      strict: false,
      peers: false,
      engine: "svc",
      against: undefined,
      profile: false,
    });
  });

  it("accept a list of rows", () => {
    expect(parseOptions(["--rows", "1, 2,4"])?.rows).toEqual(new Set([1, 2, 4]));
    expect(parseOptions(["--rows", "26"])?.rows).toEqual(new Set([26]));
  });

  it("select the rows of a cluster", () => {
    expect(parseOptions(["--cluster"])?.rows).toEqual(new Set([33, 34]));
  });

  it("shorten everything for a quick run", () => {
    expect(parseOptions(["--quick"])).toMatchObject({ rounds: 2, measureMs: 300, quick: true });
    expect(parseOptions(["--quick", "--rounds", "3"])).toMatchObject({ rounds: 3 });
  });

  it("are undefined for a request for help", () => {
    expect(parseOptions(["--help"])).toBeUndefined();
  });

  for (const args of [
    ["--rows", "99"],
    ["--rows", "one"],
    ["--cluster", "--rows", "1"],
    ["--rounds", "0"],
    ["--rounds", "x"],
    ["--engine", "fast"],
    ["--against", "..", "--engine", "naive"],
    ["--unknown"],
    ["stray"],
  ]) {
    it(`refuse ${args.join(" ")} and name what is expected`, () => {
      expect(() => parseOptions(args)).toThrow(UsageError);
    });
  }
});
