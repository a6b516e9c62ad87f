import { describe, expect, it } from "vitest";
import { threadUrl } from "./thread-url.ts";

describe("threadUrl", () => {
  it("leads from a source file to the built one", () => {
    expect(threadUrl(new URL("./store-thread.ts", import.meta.url)).href).toBe(new URL("../../dist/store/store-thread.js", import.meta.url).href);
  });

  it("leads from the source's name beside a built file to that file", () => {
    const built = new URL("../../dist/store/store-thread.js", import.meta.url);
    expect(threadUrl(new URL("./store-thread.ts", built)).href).toBe(built.href);
  });

  it("leaves JavaScript alone", () => {
    expect(threadUrl(new URL("file:///x/src/procedures.js")).href).toBe("file:///x/src/procedures.js");
  });

  it("says that the build must run when there is no built file", () => {
    expect(() => threadUrl(new URL("./never-written.ts", import.meta.url))).toThrow(/dist\/store\/never-written\.js is missing.*npm run build/);
  });
});
