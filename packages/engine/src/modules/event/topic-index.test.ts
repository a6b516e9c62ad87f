import { describe, expect, it } from "vitest";
import { TopicIndex } from "./topic-index.ts";
import { parsePattern, patternProblem } from "./topic-pattern.ts";
import { segmentOf, separatorOf, tokensOf } from "./topic-tokens.ts";

function indexOf(...patterns: string[]): TopicIndex<string> {
  const index = new TopicIndex<string>();
  for (const text of patterns) index.add(parsePattern(text), text);
  return index;
}

const fits = (pattern: string, topic: string): boolean => indexOf(pattern).matching(topic).has(pattern);

/** Reference implementation of patterns, as simple as possible. */
function means(pattern: readonly string[], topic: readonly string[]): boolean {
  const [token, ...others] = pattern;
  if (token === undefined) return topic.length === 0;
  const [head, ...rest] = topic;
  const segment = segmentOf(token);
  if (segment === "**") {
    const [next, ...behind] = others;
    // After a leading `**` that matches nothing, the topic begins without a separator.
    const bare = token === "**" && next !== undefined ? [segmentOf(next), ...behind] : others;
    if (means(bare, topic)) return true;
    if (head === undefined || separatorOf(head) !== separatorOf(token)) return false;
    for (let taken = 1; taken <= topic.length; taken++) if (means(others, topic.slice(taken))) return true;
    return false;
  }
  if (head === undefined) return false;
  if (segment === "*") return separatorOf(head) === separatorOf(token) && means(others, rest);
  return head === token && means(others, rest);
}

describe("the index of topics", () => {
  it.each([
    ["order.created", "order.created", true],
    ["order.created", "order:created", false],
    ["order.created", "order.created.twice", false],
    ["order.*", "order.created", true],
    ["order.*", "order", false],
    ["order.*", "order.created.twice", false],
    ["order.*", "order:created", false],
    ["*.created", "order.created", true],
    ["*", "order", true],
    ["*", "order.created", false],
    ["order.**", "order", true],
    ["order.**", "order.a:b/c", true],
    ["order.**", "orders.a", false],
    ["order.**", "order:a", false],
    ["**", "anything/at:all", true],
    ["**.created", "created", true],
    ["**.created", "shop.order.created", true],
    ["**.created", "shop.order.deleted", false],
    ["a.**.z", "a.z", true],
    ["a.**.z", "a.b.c.z", true],
    ["a.**.z", "a.z.b", false],
    ["a.**.z.**", "a.z.b", true],
    ["state:*", "state:updated", true],
    ["/rooms/*/**", "/rooms/1", true],
    ["/rooms/*/**", "/rooms/1/doors/2", true],
    ["/rooms/*/**", "/rooms", false],
  ])("%s and %s: %s (gap 15)", (pattern, topic, expected) => {
    expect(fits(pattern, topic)).toBe(expected);
  });

  it("finds what trying everything finds, for thousands of patterns and topics", () => {
    let seed = 11;
    const random = (below: number): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return Math.floor((seed / 2_147_483_648) * below);
    };
    const pick = (from: readonly string[]): string => from[random(from.length)] as string;
    const text = (segments: readonly string[]): string =>
      Array.from({ length: 1 + random(5) }, (_, at) => (at === 0 ? "" : pick([".", ".", ":"])) + pick(segments)).join(
        "",
      );
    const patterns = [...new Set(Array.from({ length: 3_000 }, () => text(["a", "b", "*", "**"])))].filter(
      (pattern) => patternProblem(pattern) === undefined,
    );
    const index = indexOf(...patterns);
    let found = 0;
    for (let run = 0; run < 300; run++) {
      const topic = text(["a", "b", "c"]);
      const expected = patterns.filter((pattern) => means(tokensOf(pattern), tokensOf(topic)));
      expect([...index.matching(topic)].sort(), topic).toEqual(expected.sort());
      found += expected.length;
    }
    expect(found).toBeGreaterThan(3_000);
  });

  it("forgets the one that leaves and nobody else, and keeps no node for it (gap 14)", () => {
    const index = new TopicIndex<string>();
    for (const text of ["a.b", "a.*", "**.b"])
      for (const name of ["one", "two"]) index.add(parsePattern(text), `${name} ${text}`);
    for (const text of ["a.b", "a.*", "**.b"]) index.remove(parsePattern(text), `one ${text}`);
    expect([...index.matching("a.b")]).toEqual(["two a.b", "two a.*", "two **.b"]);
    for (const text of ["a.b", "a.*", "**.b"]) index.remove(parsePattern(text), `two ${text}`);
    expect(index.matching("a.b").size).toBe(0);
    expect(index).toEqual(new TopicIndex());
  });
});

describe("a pattern", () => {
  it.each([
    ["", /empty/],
    ["x".repeat(257), /longer than 256 bytes/],
    ["order.cre*", /must be a whole segment, unlike in "cre\*"/],
    ["a.***", /whole segment/],
    ["**.a.**.b.**", /at most twice/],
    [`*${".a".repeat(32)}`, /at most 32 segments; this one has 33/],
  ])("that cannot be meant is refused: %j", (text, problem) => {
    expect(patternProblem(text)).toMatch(problem);
  });
});
