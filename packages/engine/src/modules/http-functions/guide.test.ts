import { readFileSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import { parseConfig } from "../../config/load.ts";
import { endpoint, json } from "../../outbound-http/testing/endpoint.ts";
import { httpFunctionEngine } from "./testing/http-function-engine.ts";

const guide = readFileSync(new URL("../../../../../docs/guide/http-functions.md", import.meta.url), "utf8");
const stops: (() => Promise<void>)[] = [];

afterAll(async () => {
  for (const stop of stops) await stop();
});

function sample(language: string): string {
  const found = new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``).exec(guide)?.[1];
  if (found === undefined) throw new Error(`the guide has no ${language} sample`);
  return found;
}

type IsGenuine = (headers: unknown, body: string, secret: string) => boolean;

describe("the guide to functions over HTTP", () => {
  it("shows settings that the engine takes, and that let its own examples be registered", async () => {
    const { engine: settings, warnings } = parseConfig("/project/config.yaml", sample("yaml"), {
      env: {},
      modules: [],
    });
    expect(warnings).toEqual([]);
    const engine = await httpFunctionEngine({ rules: () => settings.httpFunctions });
    stops.push(() => engine.stop());
    expect(await engine.register("a", { url: "http://localhost:8080/f" })).toBeUndefined();
    expect(
      await engine.register("b", { url: "https://partner.test/hooks/x", ...JSON.parse(sample("json")) }),
    ).toBeUndefined();
    expect(await engine.register("c", { url: "https://elsewhere.test/" })).toMatchObject({
      code: "url_validation_failed",
    });
  });

  it("shows a check of the signature that lets genuine requests pass and no others", async () => {
    const { isGenuine } = (await import(`data:text/javascript,${encodeURIComponent(sample("js"))}`)) as {
      isGenuine: IsGenuine;
    };
    const server = await endpoint(({ headers, body }, response) => {
      json(response, [
        isGenuine(headers, body, "s3cret"),
        isGenuine(headers, `${body} `, "s3cret"),
        isGenuine(headers, body, "other"),
      ]);
    });
    const engine = await httpFunctionEngine({ env: { SECRET: "s3cret" } });
    stops.push(server.stop, () => engine.stop());
    await engine.register("f", {
      url: `http://127.0.0.1:${server.port}/`,
      auth: { type: "hmac", secret_key: "SECRET" },
    });
    expect(await engine.call("f", { amount: 7 })).toEqual([true, false, false]);
  });
});
