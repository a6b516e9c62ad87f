import { describe, expect, it } from "vitest";
import { fileLinks, publishedReadme } from "./published-readme.mjs";

const TEXT =
  "See [docs/a.md](../../docs/a.md), the [guide](../../docs/b.md#start), [tsx](https://tsx.is) and [below](#below).";

describe("publishedReadme", () => {
  it("replaces links to files by their paths if the repository has no address", () => {
    expect(publishedReadme(TEXT, { folder: "packages/sdk" })).toBe(
      "See `docs/a.md`, the guide (`docs/b.md`), [tsx](https://tsx.is) and [below](#below).",
    );
  });

  it("lets links to files lead to the repository", () => {
    const base = "https://git.example/svc/blob/v1.2.3";
    expect(publishedReadme(TEXT, { folder: "packages/sdk", base })).toBe(
      `See [docs/a.md](${base}/docs/a.md), the [guide](${base}/docs/b.md#start), [tsx](https://tsx.is) and [below](#below).`,
    );
  });
});

describe("fileLinks", () => {
  it("returns links to files only", () => {
    expect(fileLinks(TEXT)).toEqual(["../../docs/a.md", "../../docs/b.md#start"]);
  });
});
