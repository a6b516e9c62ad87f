import { describe, expect, test } from "vitest";
import { SecretMask } from "./secret-mask.ts";

const mask = new SecretMask(["password", "api_key", "token", "set-cookie"]);

describe("JSON is shown with the values of hidden members masked", () => {
  test.each([
    ['{"user":"ann","password":"x"}', '{"user":"ann","password":"***"}'],
    ['{"a":[{"Password":[1,{"b":"}"}],"c":2}]}', '{"a":[{"Password":"***","c":2}]}'],
    ['{"db_password_old" : {"a":"\\"]}"} , "n":1}', '{"db_password_old" : "***" , "n":1}'],
    [
      '{"apiKey":12,"API-KEY":null,"api_key" : "","api key":true}',
      '{"apiKey":"***","API-KEY":null,"api_key" : "","api key":"***"}',
    ],
    ['{"p\\u0061ssword":"x"}', '{"p\\u0061ssword":"***"}'],
    ['["password","x"]', '["password","x"]'],
    ['"password"', '"password"'],
    ['{"note":"password: x"}', '{"note":"password: ***"}'],
    ['{"note":"a password: such as x"}', '{"note":"a password: such as x"}'],
    ['{"url":"/login?user=ann&password=x","n":1}', '{"url":"/login?user=ann&password=***","n":1}'],
    ['{"referer":"https://a.b/c?api%5fkey=x#f"}', '{"referer":"https://a.b/c?api%5fkey=***#f"}'],
    ['{"q":"who? I say: token=1"}', '{"q":"who? I say: token=***"}'],
  ])("%s", (text, shown) => {
    expect(mask.json(text)).toBe(shown);
  });

  test.each([
    ['{"user":"ann","password":"se', '{"user":"ann","password":"***"'],
    ['{"password":', '{"password":"***"'],
    ['{"password":{"a":[1,', '{"password":"***"'],
    ['{"password":"ends in a backslash\\', '{"password":"***"'],
    ['{"a":1,"passwo', '{"a":1,"passwo'],
    ['{"password":12345', '{"password":"***"'],
    ['{"url":"/login?password=se', '{"url":"/login?password=***"'],
  ])("also where it is cut off: %s", (text, shown) => {
    expect(mask.json(text)).toBe(shown);
  });

  test("also in JSON that is the text of a member, some levels deep", () => {
    const inner = JSON.stringify({ token: "t", n: 1 });
    const shown = JSON.parse(mask.json(JSON.stringify({ body: JSON.stringify({ deeper: inner }) }))) as {
      body: string;
    };
    expect(JSON.parse((JSON.parse(shown.body) as { deeper: string }).deeper)).toEqual({ token: "***", n: 1 });
  });

  test("also in such a text that is cut off", () => {
    const text = JSON.stringify({ body: JSON.stringify({ token: "very secret" }) });
    for (let length = 0; length < text.length; length++) expect(mask.json(text.slice(0, length))).not.toContain("very");
  });

  test("nothing of a secret is left, wherever the text is cut off", () => {
    const text = JSON.stringify({ a: { password: ["hush", { deep: "hush" }] }, token: "hush" });
    for (let length = 0; length <= text.length; length++) expect(mask.json(text.slice(0, length))).not.toContain("hu");
  });

  test("what is not JSON comes through, and never throws", () => {
    for (const text of [
      "",
      "{",
      '"',
      "\\",
      '{"password"',
      "not json at all",
      '{"a":\u0000}',
      '{"password" "x"}',
      "\ud800",
      '{"a\nb":1,"pass\nword":"x"}',
    ]) {
      expect(typeof mask.json(text)).toBe("string");
    }
    expect(mask.json('{"pass\\qword":"x","a":"b"}')).toContain('"b"');
  });

  test("a megabyte of quotes or braces is read once", () => {
    // Reading it again from each character would exceed the test's time limit.
    for (const text of [
      '"'.repeat(1e6),
      "{".repeat(1e6),
      `{"password":${"[".repeat(1e6)}`,
      `"${"\\".repeat(1e6)}`,
      " ".repeat(1e6),
    ])
      mask.json(text);
  });
});

describe("attributes are shown with hidden ones masked", () => {
  test("by their names, by names within them, and within JSON texts", () => {
    const attributes = {
      "http.request.header.set-cookie": "a=b",
      plain: 1,
      nested: { password: "x", list: [{ token: 1 }] },
      body: '{"token":"x"}',
    };
    expect(mask.attributes(attributes)).toEqual({
      "http.request.header.set-cookie": "***",
      plain: 1,
      nested: { password: "***", list: [{ token: "***" }] },
      body: '{"token":"***"}',
    });
  });

  test("by the parameters of a URL", () => {
    expect(mask.named("url.full", "https://a.b/c?token=x&n=1#f")).toBe("https://a.b/c?token=***&n=1#f");
    expect(mask.named("url.query", "n=1&api%5Fkey=x")).toBe("n=1&api%5Fkey=***");
    // Names of the earlier conventions, which many libraries still use.
    expect(mask.named("http.url", "https://a.b/c?token=x")).toBe("https://a.b/c?token=***");
    expect(mask.named("http.target", "/c?token=x&n=1")).toBe("/c?token=***&n=1");
    expect(mask.named("target", "/c?token=x")).toBe("/c?token=***");
  });

  test("a megabyte of a URL is read once", () => {
    // Reading it again from each character would exceed the test's time limit.
    for (const text of [
      "a".repeat(1e6),
      `?${"a".repeat(1e6)}`,
      "?=".repeat(5e5),
      `/x?a=${"b".repeat(1e6)}`,
      "a=&".repeat(3e5),
    ])
      mask.named("url.full", text);
  });

  test("a name like one of objects' own is a name like any other", () => {
    const shown = mask.attributes(
      JSON.parse('{"__proto__":{"password":"x"},"constructor":"c"}') as Record<string, string>,
    );
    expect(JSON.stringify(shown)).toBe('{"__proto__":{"password":"***"},"constructor":"c"}');
  });
});

test("without keys nothing is hidden", () => {
  expect(new SecretMask([]).json('{"password":"x"}')).toBe('{"password":"x"}');
  expect(new SecretMask(["-"]).json('{"password":"x"}')).toBe('{"password":"x"}');
});

test.each([
  ["the default of a variable", `\${API_TOKEN:hunter2}/x`, `\${API_TOKEN:***}/x`],
  [
    "a header in quotation marks",
    `curl -H 'Cookie: a="b"; c=d' http://localhost`,
    "curl -H 'Cookie: ***' http://localhost",
  ],
  ["addresses in an address", "//u:p(//v:q@h and //w:r@i", "//***@h and //***@i"],
])("%s is masked, and nothing behind it", (_, text, shown) => {
  expect(new SecretMask().text(text)).toBe(shown);
});

test.each([
  "    at Worker.call (file:///work/shop/node_modules/@svc-runtime/sdk/dist/worker.js:230:28)",
  "at webpack-internal:///./node_modules/@svc-runtime/sdk/dist/worker.js:1:2",
  "sqlite:///data/@cache/a.db",
  "file:///@scope/x.js:1:2",
  "file:///C:/shop/node_modules/@scope/x.js:1:2",
  "file:///kit@1.0.0/x.js:1:2",
  "/shop//node_modules/@scope/x.js",
])("an address without a host has no user: %s", (text) => {
  expect(new SecretMask().text(text)).toBe(text);
});

test.each([
  ["https:///ann:hunter2@shop.example/a", "https:///***@shop.example/a"],
  ["wss:////ann:hunter2@shop.example", "wss:////***@shop.example"],
  ["postgres:///ann:hunter2@db.example/shop", "postgres:///***@db.example/shop"],
  ["to ///ann:hunter2@shop.example", "to ///***@shop.example"],
])("a user after too many slashes is masked: %s", (text, shown) => {
  expect(new SecretMask().text(text)).toBe(shown);
});

// In quadratic time each of these would take minutes.
test.each([
  "(//a:b",
  "=//a:b,",
  "(//a/",
  "(//a:1",
  "://a@",
  "://a",
  ":///",
  "://///a:b/",
  'token="\\"',
  "Cookie: '",
  "'Cookie: x",
  "`cookie=x",
  `\${token: `,
])("a text of a million characters like %s is searched", (part) => {
  expect(new SecretMask().text(`${part.repeat(1_000_000 / part.length)}@x`)).toMatch(/@x$|\*$/);
});
