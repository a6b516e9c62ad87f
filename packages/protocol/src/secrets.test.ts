import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { maskConfig, maskConfigText } from "./config-mask.ts";
import { isSecretName, MASK, maskJson, maskSecrets, maskText, SecretMask } from "./secrets.ts";
import { SECRET_NAMED, selfEvidentForms, settingForms } from "./testing/planted-secrets.ts";

const SECRET = "40404040404040";

it("recognises the names of secrets in any spelling", () => {
  for (const name of SECRET_NAMED) expect([name, isSecretName(name)]).toEqual([name, true]);
  for (const name of ["user", "key", "state.key", "idempotency_key", "key_prefix", "author", "host", "", "monkey"])
    expect([name, isSecretName(name)]).toEqual([name, false]);
});

it("caches a limited number of names, with the same result for each", () => {
  const mask = new SecretMask(["iban"]);
  for (let at = 0; at < 10_000; at++) expect(mask.isSecretName(`n${at}`)).toBe(false);
  expect([mask.isSecretName("n0"), mask.isSecretName("IBAN"), mask.isSecretName(`x${"y".repeat(1_000)}.iban`)]).toEqual(
    [false, true, true],
  );
});

describe("a JSON value without its secrets", () => {
  it.each(selfEvidentForms(SECRET).map((form) => [JSON.stringify(form), form]))("%s", (text, form) => {
    const isNamedKey = typeof form === "object" && !Array.isArray(form) && Object.values(form as object).includes(null);
    // The name of a member is not masked here. In a config, where a secret as a name is a mistake, it is.
    if (!isNamedKey) {
      expect(JSON.stringify(maskSecrets(form))).not.toContain(SECRET);
      expect(maskJson(String(text))).not.toContain(SECRET);
    }
    expect(JSON.stringify(maskConfig(form))).not.toContain(SECRET);
    expect(JSON.stringify(maskConfig({ deep: [{ any: form }] }))).not.toContain(SECRET);
  });

  it("is the same value if it contains none, numbers and dates included", () => {
    const at = new Date();
    for (const value of [
      null,
      1,
      true,
      "text",
      [1, { a: ["b"] }],
      { user: "ada", n: 1, at, password: "", token: null },
    ])
      expect(maskSecrets(value)).toBe(value);
    expect(maskSecrets({ a: { n: 1 }, at, pin: { token: 1 } })).toEqual({ a: { n: 1 }, at, pin: { token: MASK } });
  });

  it("may have names that all objects have, e.g. __proto__", () => {
    const value = JSON.parse('{"__proto__":{"password":"x"},"constructor":"c"}') as object;
    expect(JSON.stringify(maskSecrets(value))).toBe('{"__proto__":{"password":"***"},"constructor":"c"}');
  });

  it("has none where it is nested too deep to search", () => {
    let value: unknown = { password: SECRET };
    for (let depth = 0; depth < 5_000; depth++) value = [value];
    expect(JSON.stringify(maskSecrets(value))).not.toContain(SECRET);
  });
});

describe("a setting is masked more strictly", () => {
  it.each(settingForms(SECRET).map((form) => [JSON.stringify(form), form]))("%s", (_text, form) => {
    expect(JSON.stringify(maskConfig(form))).not.toContain(SECRET);
  });

  it("by the names that lead to it, and by the name beside its value", () => {
    expect(maskConfig(SECRET, ["engine", "token"])).toBe(MASK);
    expect(maskConfig({ STRIPE_KEY: SECRET, MODE: "dev" }, ["env"])).toEqual({ STRIPE_KEY: MASK, MODE: "dev" });
    expect(maskConfig([{ key: "engine.token", value: SECRET }])).toEqual([{ key: "engine.token", value: MASK }]);
    expect(maskConfig([{ name: "x-api-key", value: SECRET }])).toEqual([{ name: "x-api-key", value: MASK }]);
  });

  it("keeps switches, empty values and the setting that requires a token", () => {
    const value = {
      token: "required",
      require_token: true,
      password: "",
      cors: { credentials: false },
      key_prefix: "svc:",
      redact_keys: ["iban"],
    };
    expect(maskConfig(value)).toEqual(value);
    expect(maskConfig({ env: { token: "required" } })).toEqual({ env: { token: MASK } });
  });

  it("masks credentials of an address without a scheme", () => {
    expect(maskConfigText("ada:hunter2@db:6379")).toBe("***@db:6379");
  });
});

describe("a string without its secrets", () => {
  it.each([
    ["authorization: Bearer x", "authorization: Bearer ***"],
    ["authorization=Bearer x", "authorization=Bearer ***"],
    ["x-team: a, x-api-key: b1, accept: */*", "x-team: a, x-api-key: ***, accept: */*"],
    ["Cookie: a=b; c=d", "Cookie: ***"],
    ['curl -H "authorization: Digest a=1, b=2" http://x', 'curl -H "authorization: Digest ***" http://x'],
    ["A_TOKEN=x B=y node w.mjs", "A_TOKEN=*** B=y node w.mjs"],
    ["{'password': 'a b', 'user': 'ada'}", "{'password': '***', 'user': 'ada'}"],
    ["[info] token=abc1", "[info] token=***"],
    [
      "redis://me:hunter2@db:6379/0 and https://x.example/?api_key=abc&x=1#top",
      "redis://***@db:6379/0 and https://x.example/?api_key=***&x=1#top",
    ],
    ["nats://a:b@x,nats://c@y,nats://z", "nats://***@x,nats://***@y,nats://z"],
    ["postgres://ada:p/w#@x@db/a", "postgres://***@db/a"],
    ["/login?api%5Fkey=x&n=1", "/login?api%5Fkey=***&n=1"],
  ])("%s", (text, shown) => {
    expect(maskText(text)).toBe(shown);
    expect(maskText(shown)).toBe(shown);
  });

  it.each([
    "it broke",
    "unknown token: this is prose",
    "token_not_found: the variable is not set",
    "secret::get and token://host",
    "ws://localhost:3112/a@b",
    "https://[::1]:80/a@b",
    "the basic settings, and who bears them",
    "12:30:01 ratio=1",
    "mail ada@example.org: done",
  ])("%s, as it is", (text) => {
    expect(maskText(text)).toBe(text);
  });

  it("is read a few times at most per character", () => {
    // Reading it again from each character would exceed the test's time limit.
    const long = [
      "token",
      "token=",
      "token: ",
      "a://",
      "//",
      "a:@",
      "?a=",
      "a,",
      "token=a,",
      "Bearer ",
      "-----BEGIN PRIVATE KEY-----",
      "[",
      '{"',
      "password=[",
      'token="',
    ];
    for (const text of long) {
      maskText(text.repeat(200_000));
      maskConfigText(text.repeat(200_000));
    }
  });
});

it("never throws, and does not change masked text", () => {
  const words = fc.constantFrom(
    "password",
    "token",
    "=",
    ":",
    " ",
    '"',
    "'",
    "{",
    "}",
    "[",
    "]",
    ",",
    "://",
    "@",
    "Bearer ",
    "\\",
    "a1",
    "\n",
    "&",
    "?",
    "***",
  );
  fc.assert(
    fc.property(fc.array(words, { maxLength: 12 }), (parts) => {
      const text = parts.join("");
      for (const mask of [maskText, maskJson, maskConfigText]) expect(typeof mask(text)).toBe("string");
    }),
    { numRuns: 2_000 },
  );
});
