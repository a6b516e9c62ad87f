import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { headOf, RequestHead } from "./request-head.ts";
import { trustedProxies } from "./trusted-proxies.ts";

type Request = ConstructorParameters<typeof RequestHead>[0];

const name = fc.constantFrom("Host", "host", "Cookie", "X-Forwarded-For", "x-forwarded-host", "X-A", "__proto__");
const value = fc.constantFrom("", "a", "a=1; b=2", "127.0.0.1", "203.0.113.9", 'qu"ote', "bücher", "x".repeat(3_000));
const rawHeaders = fc.array(fc.tuple(name, value), { maxLength: 4 }).map((lines): string[] => lines.flat());

function requestOf(lines: readonly string[]): Request {
  // Node makes new strings for each request.
  const copies = lines.map((line) => Buffer.from(line).toString());
  return { rawHeaders: copies, socket: { remoteAddress: "127.0.0.1" } as Request["socket"] };
}

function read(head: RequestHead): unknown {
  return { members: JSON.parse(`{${head.members}}`) as unknown, client: head.client, headers: head.headers };
}

describe("the head of a request", () => {
  it("says what its own lines say, whatever the requests before it on the connection sent", () => {
    const proxies = [trustedProxies([]), trustedProxies(["loopback"])] as const;
    fc.assert(
      fc.property(
        fc.array(fc.tuple(rawHeaders, fc.constantFrom(...proxies)), { minLength: 1, maxLength: 6 }),
        (sent) => {
          const connection = { head: undefined };
          // Each twice, as a client repeats its lines.
          for (const [lines, config] of sent.flatMap((each) => [each, each])) {
            const head = headOf(requestOf(lines), config, connection);
            expect(read(head)).toEqual(read(new RequestHead(requestOf(lines), config)));
            // The second reading of a head is from memory.
            expect(read(head)).toEqual(read(head));
          }
        },
      ),
    );
  });

  it("is not read again when a client repeats it", () => {
    const proxies = trustedProxies([]);
    const connection = { head: undefined };
    const lines = ["Host", "localhost", "Accept", "*/*"];
    const first = headOf(requestOf(lines), proxies, connection);
    expect(headOf(requestOf(lines), proxies, connection)).toBe(first);
    expect(headOf(requestOf([...lines, "X-A", "1"]), proxies, connection)).not.toBe(first);
  });
});
