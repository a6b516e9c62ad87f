import { expect, it } from "vitest";
import { parseJson } from "../../lib/json.ts";
import { holdsSecrets, maskedEntry } from "./masked-entry.ts";

const entry = parseJson(
  `{"id":"1","body":"{\\"user\\":\\"ann\\",\\"password\\":\\"p1\\"}","attributes":{"api_key":"k1","large":9007199254740993,"job":{"token":"t1","n":1},"text":"{\\"secret\\":\\"s1\\"}","password":""},"resource":{"db.credential":7}}`,
) as Parameters<typeof maskedEntry>[0];

it("masks only members with a secret's name, in body, attributes and resource, also inside JSON", () => {
  const text = JSON.stringify(maskedEntry(entry));
  for (const secret of ["p1", "k1", "t1", "s1"]) expect(text).not.toContain(secret);
  expect(maskedEntry(entry)).toMatchObject({
    id: "1",
    attributes: { api_key: "***", job: { token: "***", n: 1 }, password: "" },
  });
  expect(maskedEntry(entry).attributes).toMatchObject({ large: (entry.attributes as typeof entry).large });
  expect(maskedEntry(entry).resource).toEqual({ "db.credential": "***" });
});

it("returns whether an entry has secrets", () => {
  expect(holdsSecrets({ body: "said the token", attributes: { a: { b: [1] }, password: "" }, resource: {} })).toBe(
    false,
  );
  expect(holdsSecrets({ body: '{"password":"x"}', attributes: {}, resource: {} })).toBe(true);
  expect(holdsSecrets({ body: "", attributes: { a: { cookie: "x" } }, resource: {} })).toBe(true);
  expect(holdsSecrets({ body: "", attributes: {}, resource: { token: 1 } })).toBe(true);
});
