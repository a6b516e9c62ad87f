import { expect, it, vi } from "vitest";
import { span as spanWith } from "../../../model/testing/spans.ts";
import { holdsSecrets, jsonOf, maskedSpan } from "./masked-span.ts";

// lib/time.ts reads the time zone from localStorage.
vi.stubGlobal("localStorage", { getItem: () => null, setItem: () => undefined });
const { otlpOf } = await import("./trace-text.ts");

const span = spanWith("a", null, 0, 1, {
  attributes: [
    ["api_token", "12345"],
    ["body", '{"password":"p1","n":9007199254740993}'],
    ["http.route", "/a"],
  ],
  attributes_map: { api_token: 12345, "http.route": "/a" },
  events: [{ name: "e", timestamp_unix_nano_text: "1", timestamp_ms: 0, attributes: [["set-cookie", "c1"]] }],
  links: [{ trace_id: "3".repeat(32), span_id: "4".repeat(16), attributes: [["secret", "s1"]] }],
  baggage: { authorization: "b1", tenant: "t" },
  resource: { "db.password": "r1", host: "h" },
});

it("masks the secrets in every part of a span, in JSON and in OTLP", () => {
  for (const text of [jsonOf(maskedSpan(span)), JSON.stringify(otlpOf([maskedSpan(span)]))]) {
    for (const secret of ["12345", "p1", "c1", "s1", "b1", "r1", "NaN", "null}"]) expect(text).not.toContain(secret);
    expect(text).toContain("/a");
    expect(text).toContain("9007199254740993");
  }
  expect(maskedSpan(span)).toMatchObject({ baggage: { tenant: "t" }, resource: { host: "h" } });
});

it("reports whether there are secrets, and writes attributes once", () => {
  expect(holdsSecrets(span)).toBe(true);
  const plain = { ...span, attributes: [], attributes_map: {}, events: [], links: [], baggage: {}, resource: {} };
  expect(holdsSecrets(plain)).toBe(false);
  expect(jsonOf([span])).not.toContain("attributes_map");
});
