import pc from "picocolors";
import { describe, expect, it } from "vitest";
import { table } from "./table.ts";
import { clipped, padded, textWidth } from "./text-width.ts";
import { hangingIndent } from "./word-wrap.ts";

describe("columns on a terminal", () => {
  it("are two for an East Asian character or an emoji, none for a combining mark or a colour", () => {
    expect(["abc", "订单", "👩‍👩‍👧", "e\u0301", pc.createColors(true).red("abc")].map(textWidth)).toEqual([
      3, 4, 2, 1, 3,
    ]);
  });

  it("are used to pad and clip text without splitting a character", () => {
    expect(padded("订单", 6)).toBe("订单  ");
    expect([clipped("订单创建", 8), clipped("订单创建", 6), clipped("订单创建", 5), clipped("ae\u0301bc", 3)]).toEqual([
      "订单创建",
      "订单…",
      "订单…",
      "ae\u0301…",
    ]);
  });

  it("align the cells of a table and break lines", () => {
    const rows = [
      ["订单::创建订单", "ready"],
      ["orders::create", "ready"],
    ];
    expect(table(["FUNCTION", "STATUS"], rows)).toBe(
      "FUNCTION        STATUS\n订单::创建订单  ready\norders::create  ready\n",
    );
    expect(hangingIndent("", "创建订单 创建订单 创建订单", 20)).toEqual(["创建订单 创建订单", "创建订单"]);
  });
});
