import { expect, it } from "vitest";
import { parseJson } from "./json.ts";
import { maskedJson, maskedMember, maskedPreview, maskedText } from "./secrets.ts";

it("masks secrets by member names at any depth", () => {
  expect(maskedPreview('{"user":"a","password":"hun\\"ter2","inner":{"api_key":12,"x":true}}', 200)).toBe(
    '{"user":"a","password":"***","inner":{"api_key":"***","x":true}}',
  );
});

it("masks a secret that is an object, and nothing after it", () => {
  const shown = maskedPreview('{"name":"a","token":{"value":"s3cret"},"rest":"shown"}', 200);
  expect(shown).toBe('{"name":"a","token":"***","rest":"shown"}');
});

it("masks a secret whose value is truncated", () => {
  expect(maskedPreview(`{"password":"${"x".repeat(10_000)}"}`, 40)).not.toContain("xx");
});

it("formats the beginning on one line", () => {
  expect(maskedPreview('{\n  "a": 1\n}', 100)).toBe('{ "a": 1 }');
  expect(maskedPreview(JSON.stringify("y".repeat(500)), 20)).toBe(`"${"y".repeat(19)}…`);
});

it("masks a whole text with exact numbers and order, and does not change one without secrets", () => {
  expect(
    maskedText(
      '{"n":12345678901234567890,"auth_token":{"a":["s3cret"]},"list":[{"password":"s3cret"}],"cookie":null,"secret":""}',
    ),
  ).toBe(
    JSON.stringify(
      { n: 0, auth_token: "***", list: [{ password: "***" }], cookie: null, secret: "" },
      undefined,
      2,
    ).replace('"n": 0', '"n": 12345678901234567890'),
  );
  for (const text of ['{ "a" : 1.50 }', "[1,2]", '"token"', "it broke"]) expect(maskedText(text)).toBe(text);
  const value = parseJson('{"a":[{"b":9007199254740993}]}');
  expect(maskedMember(undefined, value)).toBe(value);
});

it("masks truncated JSON of any length", () => {
  expect(maskedText('{"password":"s3cret","b":[1,')).toBe('{"password":"***","b":[1,');
  expect(maskedText('{"a":1,"secrets":["s3cret","an')).not.toContain("s3cret");
  const long = `{"text":"${"x".repeat(1_000_000)}","password":"s3cret`;
  expect(maskedText(long).slice(-22)).toBe('xxxx","password":"***"');
});

it("masks the whole of a secret, but not empty values", () => {
  expect(maskedJson("api_key", '{"a":1}')).toBe('"***"');
  for (const json of ["null", '""', " null "]) expect(maskedJson("api_key", json)).toBe(json);
  expect(maskedJson("user", '{"a":1}')).toBe('{"a":1}');
});

it("masks secrets in headers, addresses and queries", () => {
  expect(maskedText('{"url":"redis://me:hunter2@db","n":1.50,"headers":["authorization: Bearer hunter2"]}', 0)).toBe(
    '{"url":"redis://***@db","n":1.50,"headers":["authorization: Bearer ***"]}',
  );
  expect(maskedMember("url", "https://a.example/?api_key=hunter2")).toBe("https://a.example/?api_key=***");
  expect(maskedMember("token", parseJson("90071992547409931"))).toBe("***");
});
