import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Guide, openGuide } from "./run-guide.ts";

let guide: Guide;
beforeAll(async () => {
  guide = await openGuide("http.md", { config: "config" });
});
afterAll(() => guide?.close());

describe("the guide to HTTP", () => {
  it("serves routes in TypeScript and Python, streams and guards them", async () => {
    const shop = await guide.run("shop");
    await shop.printed("the shop is open");
    const greeter = await guide.run("greeter");
    await greeter.printed("the greeter is active");

    const { output } = await guide.finish("ask");

    expect(output).toContain('{"id":7,"lines":[{"item":"oolong","count":1}]}{"error":{"code":"invalid_input"');
    expect(output).toContain('{"in":"headers","path":["x-tenant"]');
    expect(output).toContain(
      '{"id":7,"lines":[{"item":"oolong","count":1}]}{"error":{"code":"invalid_input","message":"the request does not match the route POST /py/',
    );
    expect(output).toContain('{"in":"headers","path":["x-tenant"],"message":"is missing"}');
    expect(output.match(/\{"title":"Note","files":\[\{"filename":"note.txt","size":9\}\]\}/g)).toHaveLength(2);
    expect(output).toContain('{"id":"7","tags":["a","b"],"session":"s1"}{"item":"tea"}Hello Ada{"greeted":"Ada"}');
    expect(output.match(/event: tick\ndata: \{"tick":3\}/g)).toHaveLength(2);
    expect(output).toContain('{"problem":"who are you?"}{"user":"ada"}');
    expect(output).toMatch(/"condition_not_met".*"skipped":true\}\{"id":"7","tags":\[\],"session":null\}/);
  });

  it("describes them", async () => {
    const response = await fetch(`http://127.0.0.1:${guide.ports.http}/_console/openapi.json`);
    expect(Object.keys(((await response.json()) as { paths: object }).paths)).toEqual(
      expect.arrayContaining(["/orders/{id}", "/shops/{shop}/orders", "/py/shops/{shop}/orders", "/py/uploads"]),
    );
  });

  it("has run every sample", () => {
    expect(guide.notRun()).toEqual([]);
  });
});
