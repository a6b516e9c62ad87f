import { describe, expect, it } from "vitest";
import { matchesUrlPattern } from "./url-pattern.ts";

const matches = (pattern: string, url: string): boolean => matchesUrlPattern(pattern, new URL(url));

describe("an entry of the allow list", () => {
  it.each([
    ["*", "https://anything.example/x"],
    ["api.example.com", "https://api.example.com:8443/x?y"],
    ["API.example.com", "https://api.EXAMPLE.com/"],
    ["*.example.com", "https://a.b.example.com/"],
    ["api.*", "https://api.example.com/"],
    ["api.example.com", "https://api.example.com./"],
    ["localhost:8080", "http://localhost:8080/f"],
    ["[2606:4700::1111]", "https://[2606:4700:0::1111]/"],
    ["https://api.example.com", "https://api.example.com/any/path"],
    ["https://api.example.com/v1/*", "https://api.example.com/v1/charge"],
    ["https://api.example.com:*/v1/*", "https://api.example.com:8443/v1/charge"],
    ["*://api.example.com/hook", "http://api.example.com/hook?x=1"],
    ["https://*.example.com/*/f", "https://a.example.com/b/c/f"],
  ])("%s names %s", (pattern, url) => {
    expect(matches(pattern, url)).toBe(true);
  });

  it.each([
    ["*.example.com", "https://example.com/"],
    ["*.example.com", "https://evil.com/.example.com"],
    ["*.example.com", "https://a.example.com.evil.com/"],
    ["api.example.com", "https://api.example.com.evil.com/"],
    ["localhost:8080", "http://localhost:8081/"],
    ["https://api.example.com", "https://api.example.com.evil.com/"],
    ["https://api.example.com*", "https://evil.com/"],
    ["https://api.example.com", "http://api.example.com/"],
    ["https://api.example.com", "https://api.example.com:8443/"],
    ["https://api.example.com/v1/*", "https://api.example.com/v1/../admin"],
    ["https://api.example.com/v1/*", "https://api.example.com/v1/%2e%2e/admin"],
    ["https://api.example.com/v1", "https://api.example.com/v1/x"],
    ["https://*/v1", "https://evil.com/v1/v1x"],
    ["not a pattern at all://", "https://example.com/"],
  ])("%s does not name %s", (pattern, url) => {
    expect(matches(pattern, url)).toBe(false);
  });

  it("does not backtrack over many stars", () => {
    // A matcher that tries all combinations would never end here.
    expect(matches(`https://h/${"*a".repeat(500)}`, `https://h/${"a".repeat(4000)}b`)).toBe(false);
  });
});
