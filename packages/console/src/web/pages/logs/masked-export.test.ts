import { expect, it } from "vitest";
import { maskedExport } from "./masked-export.ts";

const textOf = async (text: string, format: "ndjson" | "csv"): Promise<string> =>
  (await maskedExport(new Blob([text]), format)).text();

it("masks in NDJSON what the page masks, and leaves the rest unchanged", async () => {
  const entry =
    '{"id":"1","body":"{\\"password\\":\\"p1\\"}","attributes":{"api_key":"k1","large":9007199254740993},"resource":{"db.token":"t1"}}';
  const plain = '{"id":"2","body":"said the token","attributes":{"n":1.50},"resource":{}}';
  const masked = (await textOf(`${entry}\n${plain}\n`, "ndjson")).split("\n");
  expect(masked[0]).not.toMatch(/p1|k1|t1/);
  expect(masked[0]).toContain("9007199254740993");
  expect(masked.slice(1)).toEqual([plain, ""]);
});

it("masks in CSV cells, also in cells of several lines", async () => {
  const cell = (text: string): string => `"${text.replaceAll('"', '""')}"`;
  const head = "timestamp,body,attributes";
  const secret = [
    cell("t"),
    cell('{\n"password": "p1"}'),
    cell('{"api_key":"k1","text":"{\\"token\\":\\"t1\\"}","n":9007199254740993}'),
  ].join(",");
  const plain = [cell("t"), cell('"quoted",\nand a second line'), cell("{}")].join(",");
  const masked = await textOf(`${head}\n${secret}\n${plain}\n`, "csv");
  expect(masked).not.toMatch(/p1|k1|t1/);
  expect(masked).toContain("9007199254740993");
  expect(masked.startsWith(`${head}\n`)).toBe(true);
  expect(masked.endsWith(`\n${plain}\n`)).toBe(true);
});

it("masks JSON after the apostrophe that disables formulas", async () => {
  expect(await textOf(`"'\n{""password"":""p1""}"\n`, "csv")).not.toContain("p1");
});
