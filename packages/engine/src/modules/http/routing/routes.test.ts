import { character } from "@svc-runtime/protocol/testing/arbitraries";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Principal, restrictedPrincipal, TRUSTED } from "../../../access/principal.ts";
import { type Bound, binding } from "../testing/bound-route.ts";
import { readTarget } from "./path.ts";
import type { RouteMethod, RouteSettings } from "./route-settings.ts";
import { type RouteMatch, RouteTable } from "./routes.ts";

const GUESTS = restrictedPrincipal("role guest");

function tableOf(...paths: string[]): RouteTable {
  const table = new RouteTable();
  for (const path of paths) table.add(binding(`f ${path}`, path));
  return table;
}

/** Returns the function and parameters for a target, or why there are none. */
function lookup(table: RouteTable, target: string, method = "GET"): unknown {
  const match: RouteMatch = table.match(method, readTarget(target).path);
  return match.kind === "found" ? [match.holder.binding.functionId, { ...match.pathParams }] : match.kind;
}

describe("a route table", () => {
  it("prefers a static segment to a parameter and a parameter to a tail (gap 28)", () => {
    const table = tableOf("/a/*rest", "/a/:id", "/a/b", "/a/:id/c", "/*all");
    expect(lookup(table, "/a/b")).toEqual(["f /a/b", {}]);
    expect(lookup(table, "/a/x")).toEqual(["f /a/:id", { id: "x" }]);
    expect(lookup(table, "/a/x/c")).toEqual(["f /a/:id/c", { id: "x" }]);
    expect(lookup(table, "/a/x/d")).toEqual(["f /a/*rest", { rest: "x/d" }]);
    expect(lookup(table, "/b/a")).toEqual(["f /*all", { all: "b/a" }]);
  });

  it("tells case and trailing slash apart", () => {
    const table = tableOf("/Orders", "/orders/");
    expect(lookup(table, "/orders")).toBe("none");
    expect(lookup(table, "/Orders")).toEqual(["f /Orders", {}]);
    expect(lookup(table, "/orders/")).toEqual(["f /orders/", {}]);
  });

  it("gives parameters and tails at least one character", () => {
    const table = tableOf("/p/:id", "/t/{*rest}", "/r/{name}/x");
    for (const target of ["/p/", "/p", "/t/", "/t", "/r//x"]) expect(lookup(table, target)).toBe("none");
    expect(lookup(table, "/r/n/x")).toEqual(["f /r/{name}/x", { name: "n" }]);
    expect(lookup(table, "/t//")).toEqual(["f /t/{*rest}", { rest: "/" }]);
  });

  it("takes literal segments encoded or not, and with a colon inside", () => {
    const table = tableOf("/caf%C3%A9", "/items:batch", "/100%25", "/dé/:x");
    expect(lookup(table, "/caf%c3%a9")).toEqual(["f /caf%C3%A9", {}]);
    expect(lookup(table, "/items:batch")).toEqual(["f /items:batch", {}]);
    expect(lookup(table, "/items%3Abatch")).toEqual(["f /items:batch", {}]);
    expect(lookup(table, "/100%25")).toEqual(["f /100%25", {}]);
    expect(lookup(table, "/d%C3%A9/1")).toEqual(["f /dé/:x", { x: "1" }]);
  });

  it("keeps parameters called __proto__ as plain keys", () => {
    const match = tableOf("/:__proto__").match("GET", "/x");
    expect(match.kind === "found" && JSON.stringify(match.pathParams)).toBe('{"__proto__":"x"}');
  });

  it("names the methods of a path that exists for others only", () => {
    const table = new RouteTable();
    table.add(binding("get", "/x/:id"));
    table.add(binding("put", "/x/:id", { method: "PUT" }));
    table.add(binding("other", "/y", { method: "POST" }));
    expect(table.match("PATCH", "/x/1")).toEqual({ kind: "wrong method", allow: ["GET", "HEAD", "OPTIONS", "PUT"] });
    expect(table.match("TRACE", "/y")).toEqual({ kind: "wrong method", allow: ["OPTIONS", "POST"] });
    expect(lookup(table, "/x/1", "HEAD")).toEqual(["get", { id: "1" }]);
  });

  it("takes the same shape as the same route: the first owns it, the others wait in the order they came (gap 28) (gap 31)", () => {
    const table = new RouteTable();
    const [first, second, third] = [binding("f1", "/a/:id"), binding("f2", "/a/:x"), binding("f3", "a/{name}")];
    const leave = [first, second, third].map((each) => table.add(each));
    expect([first.problem, second.problem, third.problem]).toEqual([
      undefined,
      "route taken by f1",
      "route taken by f1",
    ]);
    expect(lookup(table, "/a/1")).toEqual(["f1", { id: "1" }]);

    leave[0]?.();
    expect([second.problem, third.problem]).toEqual([undefined, "route taken by f2"]);
    expect(lookup(table, "/a/1")).toEqual(["f2", { x: "1" }]);

    leave[1]?.();
    leave[1]?.();
    expect(lookup(table, "/a/1")).toEqual(["f3", { name: "1" }]);
    leave[2]?.();
    expect(lookup(table, "/a/1")).toBe("none");
    expect(table.size).toBe(0);
  });

  it("passes a route to the next one that is connected while the worker of the first is away, and back (decision 43)", () => {
    const table = new RouteTable();
    const [first, second, third] = [binding("f1", "/a/:id"), binding("f2", "/a/:x"), binding("f3", "/a/{name}")];
    const leave = [first, second, third].map((each) => table.add(each));
    const guest = binding("guest", "/a/:id");
    guest.principal = GUESTS;
    table.add(guest);
    const problems = (): unknown[] => [first, second, third, guest].map(({ problem }) => problem);

    second.setAway(true);
    expect(lookup(table, "/a/1")).toEqual(["f1", { id: "1" }]);
    first.setAway(true);
    expect(lookup(table, "/a/1")).toEqual(["f3", { name: "1" }]);
    expect(problems()).toEqual(["route taken by f3", "route taken by f3", undefined, "route taken by f3"]);
    second.setAway(false);
    expect(lookup(table, "/a/1")).toEqual(["f2", { x: "1" }]);
    third.setAway(true);
    second.setAway(true);
    // All are away: the first keeps the route, and the restricted one does not get it.
    expect(lookup(table, "/a/1")).toEqual(["f1", { id: "1" }]);
    expect(problems()).toEqual([undefined, "route taken by f1", "route taken by f1", "route taken by f1"]);
    third.setAway(false);
    first.setAway(false);
    expect(lookup(table, "/a/1")).toEqual(["f1", { id: "1" }]);

    // One that returns too late has lost its place.
    first.setAway(true);
    leave[0]?.();
    first.setAway(false);
    table.add(first);
    expect(lookup(table, "/a/1")).toEqual(["f3", { name: "1" }]);
    expect(problems()).toEqual(["route taken by f3", "route taken by f3", undefined, "route taken by f3"]);
  });

  it("gives a route to whoever is not restricted, also when that changes while it is served", () => {
    const table = new RouteTable();
    const [guest, later, trusted] = [binding("guest", "/a"), binding("later", "/a"), binding("trusted", "/a")];
    guest.principal = GUESTS;
    later.principal = GUESTS;
    for (const each of [guest, later]) table.add(each);
    expect([guest.problem, later.problem]).toEqual([undefined, "route taken by guest"]);
    const leave = table.add(trusted);
    expect([guest.problem, later.problem, trusted.problem]).toEqual([
      "route taken by trusted",
      "route taken by trusted",
      undefined,
    ]);
    later.become(TRUSTED);
    expect(lookup(table, "/a")).toEqual(["trusted", {}]);
    trusted.become(GUESTS);
    expect(lookup(table, "/a")).toEqual(["later", {}]);
    later.become(GUESTS);
    expect(lookup(table, "/a")).toEqual(["later", {}]);
    trusted.become(TRUSTED);
    leave();
    expect([lookup(table, "/a"), later.problem, guest.problem]).toEqual([
      ["later", {}],
      undefined,
      "route taken by later",
    ]);
  });

  describe("of workers with different rights", () => {
    const role = (name: string): Principal => restrictedPrincipal(`role ${name}`);
    function restricted(
      functionId: string,
      apiPath: string,
      more: Partial<RouteSettings> = {},
      principal = GUESTS,
    ): Bound {
      const bound = binding(functionId, apiPath, more);
      bound.principal = principal;
      return bound;
    }

    it.each(["first", "last"])(
      "keeps for a trusted worker every path that one of its routes matches, when it came %s",
      (when) => {
        const table = new RouteTable();
        const trusted = [binding("user", "/users/:id"), binding("file", "/files/*rest")];
        const guests = [
          restricted("me", "/users/me"),
          restricted("two", "/files/:a/:b"),
          restricted("head", "/users/:id", { method: "HEAD" }),
          restricted("options", "/users/:id", { method: "OPTIONS" }),
          restricted("post", "/users/:id", { method: "POST" }),
        ];
        for (const each of when === "first" ? [...trusted, ...guests] : [...guests, ...trusted]) table.add(each);
        expect(lookup(table, "/users/me")).toEqual(["user", { id: "me" }]);
        expect(lookup(table, "/users/me", "HEAD")).toEqual(["user", { id: "me" }]);
        expect(lookup(table, "/users/me", "POST")).toBe("wrong method");
        expect(lookup(table, "/users/1", "OPTIONS")).toBe("wrong method");
        expect(table.methodsOf("/users/1")).toEqual(["GET", "HEAD", "OPTIONS"]);
        expect(lookup(table, "/files/a/b")).toEqual(["file", { rest: "a/b" }]);
        expect(guests.map(({ problem }) => problem)).toEqual([
          "path taken by user, which serves GET /users/:id",
          "path taken by file, which serves GET /files/*rest",
          expect.stringMatching(/taken by user/),
          "path taken by user, which serves GET /users/:id",
          "path taken by user, which serves GET /users/:id",
        ]);
      },
    );

    it("takes from a principal with a path prefix only what lies below it", () => {
      const table = new RouteTable();
      const acme = restrictedPrincipal("role acme", "/acme/v1");
      for (const path of ["/acme/v1", "/acme/v1/", "/%61cme/v1/:id", "/acme/v1/*rest"])
        table.add(restricted(path, path, {}, acme));
      for (const path of ["/", "/acme", "/acme/v10", "/acme/v1x/a", "/:a/v1", "/acme/*rest", "/evil/acme/v1"]) {
        expect(() => table.add(restricted(path, path, {}, acme))).toThrow(
          `routes of this connection must lie below /acme/v1, e.g. /acme/v1${path}`,
        );
      }
      expect(table.size).toBe(4);
      // Also registered by a trusted worker, until that one leaves.
      const shared = binding("shared", "/other");
      table.add(shared);
      shared.become(acme);
      expect([shared.problem, lookup(table, "/other")]).toEqual([
        "routes of this connection must lie below /acme/v1, e.g. /acme/v1/other",
        "none",
      ]);
      shared.become(TRUSTED);
      expect([shared.problem, lookup(table, "/other")]).toEqual([undefined, ["shared", {}]]);
    });

    it("gives a restricted one what trusted ones leave, and all of it once they have gone", () => {
      const table = new RouteTable();
      const leave = table.add(binding("me", "/users/me"));
      const guest = restricted("user", "/users/:id");
      table.add(guest);
      expect([guest.problem, lookup(table, "/users/1"), lookup(table, "/users/me")]).toEqual([
        undefined,
        ["user", { id: "1" }],
        ["me", {}],
      ]);
      leave();
      expect(lookup(table, "/users/me")).toEqual(["user", { id: "me" }]);
    });

    it("keeps a path for the restricted principal that came first, also from a narrower route and another method", () => {
      const table = new RouteTable();
      const [acme, evil] = [role("acme"), role("evil")];
      const leave = table.add(restricted("acme", "/shop/:id", {}, acme));
      const own = restricted("acme::me", "/shop/me", {}, acme);
      table.add(own);
      const others = [
        restricted("evil", "/shop/me", {}, evil),
        restricted("evil", "/shop/:x", { method: "POST" }, evil),
        restricted("evil", "/other", {}, evil),
      ];
      for (const each of others) table.add(each);
      expect([own, ...others].map(({ problem }) => problem)).toEqual([
        undefined,
        "route taken by acme::me",
        "path taken by acme::me, which serves GET /shop/me",
        undefined,
      ]);
      expect([lookup(table, "/shop/me"), lookup(table, "/shop/1", "POST")]).toEqual([["acme::me", {}], "wrong method"]);
      leave();
      expect([lookup(table, "/shop/me"), lookup(table, "/shop/1")]).toEqual([["acme::me", {}], "none"]);
      expect(others.map(({ problem }) => problem)).toEqual([
        "route taken by acme::me",
        "path taken by acme::me, which serves GET /shop/me",
        undefined,
      ]);
    });

    describe("with limits", () => {
      const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
      const GUEST = role("guest");

      it("lets one restricted principal have 1,000 routes over all its connections, and all together 8,000", () => {
        const table = new RouteTable();
        const leave = Array.from({ length: 1_000 }, (_, at) =>
          table.add(restricted(`f${at}`, at < 500 ? "/same" : `/r/${at}`)),
        );
        expect(() => table.add(restricted("more", "/more"))).toThrow(
          "all connections of role guest together have 1000 HTTP routes of 1000",
        );
        leave[0]?.();
        leave[0]?.();
        table.add(restricted("more", "/more"));
        expect(() => table.add(restricted("again", "/again"))).toThrow("1000 HTTP routes of 1000");
        table.add(binding("trusted", "/trusted"));
        for (let of = 1; of < 8; of++)
          for (let at = 0; at < 1_000; at++) table.add(restricted("f", `/${of}/${at}`, {}, role(`${of}`)));
        expect(() => table.add(restricted("last", "/last", {}, role("last")))).toThrow(
          "all restricted connections together have 8000 HTTP routes of 8000",
        );
      });

      it("refuses a route that only its trusted owner had within the limits, and counts it while a restricted one has it", () => {
        const table = new RouteTable({ maxRoutes: { each: 1, restricted: 2 } });
        const [shared, other] = [binding("shared", "/shared"), binding("other", "/other")];
        for (const each of [shared, other]) table.add(each);
        shared.become(GUEST);
        other.become(GUEST);
        expect([shared.problem, other.problem]).toEqual([
          undefined,
          "all connections of role guest together have 1 HTTP routes of 1",
        ]);
        shared.become(TRUSTED);
        other.become(role("another"));
        expect([shared.problem, other.problem, lookup(table, "/other")]).toEqual([undefined, undefined, ["other", {}]]);
      });

      it("refuses a restricted route of more than 32 segments", () => {
        const table = new RouteTable();
        const path = "/a".repeat(33);
        table.add(binding("trusted", path));
        expect(() => table.add(restricted("guest", path))).toThrow(
          "the route has 33 segments; restricted connections may use 32",
        );
        table.add(restricted("guest", "/b".repeat(32)));
      });

      it("tells a bounded number of those that wait when the first of a route leaves", () => {
        for (const principal of [TRUSTED, GUEST]) {
          const table = new RouteTable();
          const all = Array.from({ length: 500 }, (_, at) => restricted(`f${at}`, "/a", {}, principal));
          const leave = all.map((each) => table.add(each));
          const reports = (): number => all.reduce((sum, each) => sum + each.reports, 0);
          for (const [at, undo] of leave.slice(0, -1).entries()) {
            const before = reports();
            undo();
            expect(reports() - before).toBeLessThan(40);
            expect(lookup(table, "/a")).toEqual([`f${at + 1}`, {}]);
            expect([all[at + 1]?.problem, all[at + 2]?.problem]).toEqual([
              undefined,
              at < 498 ? expect.stringMatching(/taken by/) : undefined,
            ]);
          }
        }
      });

      it("visits few routes of its own when a route leaves that others waited for", () => {
        const table = new RouteTable();
        const wide = table.add(restricted("wide", "/*rest", {}, role("wide")));
        const others = Array.from({ length: 80 }, (_, at) => restricted(`f${at}`, `/shop/${at}/:id`));
        const leave = others.map((each) => table.add(each));
        expect(others.every(({ problem }) => problem !== undefined)).toBe(true);
        const before = table.visits;
        wide();
        // One path for each: root, segments and end, in the trusted and in the restricted tree.
        expect(table.visits - before).toBeLessThan(80 * 10);
        expect(others.every(({ problem }) => problem === undefined)).toBe(true);
        for (const undo of leave) undo();
        expect([table.visits - before < 80 * 10, table.size]).toEqual([true, 0]);
      });

      it("hands over at most a hundred routes in one turn of the event loop, in the order in which they came", async () => {
        const table = new RouteTable();
        const wide = table.add(restricted("wide", "/*rest", {}, role("wide")));
        const others = Array.from({ length: 1_000 }, (_, at) => restricted(`f${at}`, `/shop/${at}`));
        const leave = others.map((each) => table.add(each));
        wide();
        expect(lookup(table, "/shop/0")).toEqual(["f0", {}]);
        expect(lookup(table, "/shop/999")).toBe("none");
        const first = table.size;
        expect([first > 50, first <= 100]).toEqual([true, true]);
        leave.pop()?.();
        await turn();
        expect(table.size).toBeLessThanOrEqual(200);
        for (let turns = 0; turns < 20; turns++) await turn();
        expect(table.size).toBe(999);
        expect(others.filter(({ problem }) => problem !== undefined)).toEqual([others[999]]);
      });
    });

    describe("after a trusted worker went", () => {
      it.each(["first", "last"])(
        "keeps its route from restricted connections until a trusted worker takes it back, when they came %s",
        (when) => {
          const table = new RouteTable();
          const user = binding("user", "/users/:id");
          const guests = [
            restricted("get", "/users/:x"),
            restricted("post", "/users/:id", { method: "POST" }),
            restricted("me", "/users/me"),
            restricted("wide", "/*rest"),
          ];
          if (when === "first") for (const each of guests) table.add(each);
          const leave = table.add(user);
          user.isGivenUp = false;
          leave();
          if (when === "last") for (const each of guests) table.add(each);
          const problem = "path reserved: a trusted worker served GET /users/:id and may come back";
          expect(guests.map((guest) => guest.problem)).toEqual([problem, problem, problem, undefined]);
          for (const method of ["GET", "HEAD", "POST", "OPTIONS"])
            expect(lookup(table, "/users/1", method)).toBe("none");
          expect([lookup(table, "/users/me"), table.methodsOf("/users/1"), lookup(table, "/other")]).toEqual([
            "none",
            [],
            ["wide", { rest: "other" }],
          ]);

          const again = binding("again", "/users/{name}");
          const leaveAgain = table.add(again);
          expect(lookup(table, "/users/1")).toEqual(["again", { name: "1" }]);
          expect(guests[1]?.problem).toBe("path taken by again, which serves GET /users/{name}");
          leaveAgain();
          expect(guests.map((guest) => guest.problem)).toEqual([undefined, undefined, undefined, undefined]);
          expect(lookup(table, "/users/me")).toEqual(["me", {}]);
        },
      );

      it("keeps the route while one of two trusted triggers is left, and from the restricted one that shared the trigger", () => {
        const table = new RouteTable();
        const [one, two, guest] = [binding("one", "/a"), binding("two", "/a"), restricted("guest", "/a")];
        const leave = [one, two, guest].map((each) => table.add(each));
        leave[0]?.();
        two.isGivenUp = false;
        two.become(GUESTS);
        expect([lookup(table, "/a"), two.problem]).toEqual([
          "none",
          "path reserved: a trusted worker served GET /a and may come back",
        ]);
        two.become(TRUSTED);
        two.isGivenUp = true;
        two.become(GUESTS);
        expect([lookup(table, "/a"), two.problem]).toEqual([["two", {}], undefined]);
      });

      it("lets the rest of a trusted route of many paths be served by its worker", () => {
        const table = new RouteTable();
        const me = binding("me", "/users/me");
        const leave = table.add(me);
        table.add(binding("user", "/users/:id"));
        me.isGivenUp = false;
        leave();
        expect(lookup(table, "/users/me")).toEqual(["user", { id: "me" }]);
      });

      it("gives restricted principals only paths below their prefix while the reserved routes are unknown", () => {
        const table = new RouteTable({ problem: "delete the file" });
        const bind = (path: string, prefix?: string) => () =>
          table.add(restricted(path, path, {}, restrictedPrincipal("role r", prefix)));
        expect(bind("/pay")).toThrow("/pay may be a route of a trusted worker: delete the file");
        expect(bind("/acme/pay", "/acme")).not.toThrow();
        table.add(binding("bank", "/pay"));
        expect(lookup(table, "/pay")).toEqual(["bank", {}]);
      });

      it("saves the routes, the newest ones of a limited number, and takes those of the last run", () => {
        const entries = new Set<string>();
        const saved = { add: (entry: string) => entries.add(entry), remove: (entry: string) => entries.delete(entry) };
        const table = new RouteTable({ reserved: ["POST /old/:id", "nonsense", "GET //"], saved, maxReserved: 3 });
        const guests = ["/old/1", "/a/1", "/b", "/c"].map((path) => restricted(path, path));
        for (const guest of guests) table.add(guest);
        expect(guests.map(({ problem }) => problem)).toEqual([
          "path reserved: a trusted worker served POST /old/:id and may come back",
          undefined,
          undefined,
          undefined,
        ]);
        for (const path of ["/a/:id", "/b", "/a/:id", "/c"]) {
          const bound = binding(path, path);
          bound.isGivenUp = false;
          table.add(bound)();
        }
        expect([...entries]).toEqual(["GET /a/:id", "GET /b", "GET /c"]);
        expect(guests.map(({ problem }) => problem === undefined)).toEqual([true, false, false, false]);
        table.add(binding("b", "/b"))();
        expect([[...entries], guests[2]?.problem]).toEqual([["GET /a/:id", "GET /c"], undefined]);
      });
    });
  });

  it("lets one that waits leave without a trace", () => {
    const table = new RouteTable();
    const first = binding("f1", "/a");
    table.add(first);
    const leave = table.add(binding("f2", "/a"));
    leave();
    expect(lookup(table, "/a")).toEqual(["f1", {}]);
  });

  it("sees no conflict when the same function asks for the same route twice, unless it would answer differently", () => {
    const table = new RouteTable();
    table.add(binding("f", "/a"));
    const [alike, different] = [binding("f", "a"), binding("f", "/a", { timeoutMs: 5 })];
    table.add(alike);
    table.add(different);
    expect([alike.problem, different.problem]).toEqual([undefined, "route taken by f"]);
  });

  it("finds every route with its parameters, whichever other routes come and go", () => {
    // Dot segments cannot be requested; other characters that a literal must not contain are refused at registration.
    const literal = fc
      .string({ unit: character, minLength: 1, maxLength: 6 })
      .filter((text) => !/[*{}?#/\\\0%]/.test(text) && !/^[.:]/.test(text));
    const value = fc
      .string({ unit: character, minLength: 1, maxLength: 6 })
      .filter((text) => !/[/\\\0]/.test(text) && !/^\.{1,2}$/.test(text));
    const segment = fc.oneof(
      literal.map((text) => ({ literal: text })),
      value.map((text) => ({ value: text })),
    );
    const route = fc.record({
      method: fc.constantFrom<RouteMethod>("GET", "POST"),
      segments: fc.array(segment, { minLength: 1, maxLength: 4 }),
      stays: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(route, { maxLength: 12 }), (routes) => {
        const table = new RouteTable();
        const entries = routes.map(({ method, segments, stays }, index) => {
          // The first segment distinguishes the routes of each run, so that each target has one result.
          const apiPath = `/r${index}/${segments.map((each, at) => ("literal" in each ? each.literal : `:p${at}`)).join("/")}`;
          const target = `/r${index}/${segments.map((each) => encodeURIComponent("literal" in each ? each.literal : each.value)).join("/")}`;
          const params = Object.fromEntries(
            segments.flatMap((each, at) => ("value" in each ? [[`p${at}`, each.value]] : [])),
          );
          const undo = table.add(binding(`f${index}`, apiPath, { method }));
          return { method, target, params, stays, undo, functionId: `f${index}` };
        });
        for (const { method, target, params, functionId } of entries)
          expect(lookup(table, target, method)).toEqual([functionId, params]);
        for (const { stays, undo } of entries) if (!stays) undo();
        for (const { method, target, params, functionId, stays } of entries)
          expect(lookup(table, target, method)).toEqual(stays ? [functionId, params] : "none");
      }),
    );
  });

  it("says of a second binding of the same function that its parameters have other names than those that come", () => {
    const table = new RouteTable();
    const [first, second, same] = [
      binding("f", "/items/:id"),
      binding("f", "/items/:other"),
      binding("f", "/items/{id}"),
    ];
    const undo = [first, second, same].map((each) => table.add(each));
    expect([first, second, same].map(({ problem }) => problem)).toEqual([
      undefined,
      "route served as /items/:id, whose parameters have other names: the function gets those",
      undefined,
    ]);
    undo[0]?.();
    expect(second.problem).toBeUndefined();
  });
});
