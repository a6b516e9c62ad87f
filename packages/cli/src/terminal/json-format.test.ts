import { memberTexts } from "@svc-runtime/protocol/json-text";
import { describe, expect, it } from "vitest";
import { formatJson } from "./json-format.ts";

const VALUES: readonly unknown[] = [
  null,
  true,
  -12.5,
  "",
  'a "quoted" \\ text, {with: [all]} of it\n',
  [],
  {},
  [[], {}, [1, [2]]],
  { "": { a: [1, "2", { b: null }], "x:y": {} }, z: false },
];

describe("JSON text", () => {
  it.each(VALUES.map((value) => [JSON.stringify(value), value]))(
    "%s is formatted like JSON.stringify",
    (_title, value) => {
      for (const json of [JSON.stringify(value), JSON.stringify(value, null, "\t"), JSON.stringify(value, null, 3)]) {
        expect(formatJson(json, "line")).toBe(JSON.stringify(value));
        expect(formatJson(json, "indented")).toBe(JSON.stringify(value, null, 2));
      }
    },
  );

  it("keeps numbers exactly, and duplicate members", () => {
    expect(formatJson('{"n": [9007199254740993 ,1e400, 1.10, -0], "n" : 2E+3}', "line")).toBe(
      '{"n":[9007199254740993,1e400,1.10,-0],"n":2E+3}',
    );
  });

  it("escapes control characters and stays equal JSON", () => {
    const written = String.raw`{"\u009b2J":["\u202e\u007f","\u001b[31m"]}`;
    const raw = '{"\u009b2J":["\u202e\u007f","\\u001b[31m"]}';
    for (const json of [written, raw]) expect(formatJson(json, "line")).toBe(written);
    expect([...memberTexts(raw).keys()]).toEqual(["\u009b2J"]);
  });

  it("removes only needless escapes", () => {
    expect(formatJson(String.raw`"\u00e9 \/ \n \ud800"`, "line")).toBe(String.raw`"é / \n \ud800"`);
  });
});
