import { expect, it } from "vitest";
import { maskProblem, mayHoldMask } from "./mask-problem.ts";

it("rejects a text with a mask in place of a secret, in any notation", () => {
  for (const text of [
    '{"password":"***"}',
    '{"password":"\\u002a\\u002a\\u002a"}',
    '["Bearer ***"]',
    '"{\\"password\\":\\"***\\"}"',
  ]) {
    expect(maskProblem(text)).toContain("secret");
    expect(maskProblem(text, '{"password":"s3cret"}')).toContain("secret");
    expect(maskProblem(text, text)).toBeUndefined();
  }
  for (const text of ['"redis://***@db"', '"authorization: Bearer ***"', '"/x?token=***"'])
    expect(maskProblem(text)).toContain("secret");
  for (const text of [
    '{"password":"new"}',
    '{"sep":"***"}',
    '["***"]',
    '"a *** b"',
    '"note: ***bold***"',
    '"****"',
    "***",
  ]) {
    expect(maskProblem(text)).toBeUndefined();
  }
});

const PEM = "-----BEGIN PRIVATE KEY-----\nabc";
const JWT = "Bearer eyJhbGciOiJIUzI1NiJ9.e30.c2ln";

it("rejects every new mask while a secret is hidden, as it may be copied from another place", () => {
  for (const [before, edited] of [
    [{ keys: [PEM, "x"] }, { keys: ["***", "x"] }],
    [{ keys: [PEM, "x"] }, { keys: ["new", "***", "x"] }],
    [{ ci: PEM }, { deploy: "***" }],
    [{ ci: PEM }, { a: { ci: "***" } }],
    [{ ci: PEM }, { ci: ["a ***"] }],
    [{ login: JWT }, { signIn: "Bearer ***" }],
    [{ a: { password: "x" } }, { a: "***" }],
    [{ a: { password: "x" } }, "***"],
    [
      { password: "***a***", ci: PEM },
      { password: "***a***", deploy: "***" },
    ],
    [
      { password: "s3cret", sep: "***" },
      { password: "***", sep: "***" },
    ],
    // Not copied, but that is unknown.
    [
      { ci: PEM, sep: "," },
      { ci: PEM, sep: "***" },
    ],
  ]) {
    expect(maskProblem(JSON.stringify(edited), JSON.stringify(before)), JSON.stringify(edited)).toContain("secret");
  }
});

it("allows masks where they were, and anywhere if no secret is hidden", () => {
  expect(maskProblem('{"password":"new","sep":"***"}', '{"password":"s3cret","sep":"***"}')).toBeUndefined();
  expect(maskProblem('{"sep":"***","n":1}', '{"sep":"***"}')).toBeUndefined();
  expect(maskProblem('{"sep":"***"}', '{"sep":","}')).toBeUndefined();
  expect(maskProblem('{"seps":[",","***"]}', '{ "password": "***", "seps": ["\\u002a**"] }')).toBeUndefined();
});

it("rejects a mask for the whole of a secret", () => {
  expect(maskProblem('"***"', undefined, "api_key")).toContain("secret");
  expect(maskProblem('"***"', '"s3cret"', "api_key")).toContain("secret");
  expect(maskProblem('"***"', '{"a":1}', "api_key")).toContain("secret");
  expect(maskProblem('"***"', '"***"', "api_key")).toBeUndefined();
  expect(maskProblem('"***"', '"s3cret"', "user")).toBeUndefined();
});

it("finds every mask that the engine may have inserted for unknown names", () => {
  for (const text of ['{"ssn":"***"}', '["Bearer ***"]', '"ssn=***"', '"redis://***@db"'])
    expect(mayHoldMask(text)).toBe(true);
  for (const text of ['"a *** b"', '"****"', '{"a":1}']) expect(mayHoldMask(text)).toBe(false);
});
