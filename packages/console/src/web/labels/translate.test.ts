// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, it, vi } from "vitest";

let catalogues: Readonly<Record<string, unknown>> = {};
const asked: string[] = [];

beforeEach(() => {
  asked.length = 0;
  vi.stubGlobal("fetch", async (path: string) => {
    asked.push(path);
    const found = catalogues[path];
    return found === undefined ? new Response("File not found.\n", { status: 404 }) : Response.json(found);
  });
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.resetModules();
  localStorage.clear();
  history.replaceState(null, "", "/");
  document.documentElement.lang = "";
});

/** Loads the modules as a page at this address does, and again if the catalogue changed. */
async function load(search: string): Promise<typeof import("./translate.ts") & { readonly loads: number }> {
  history.replaceState(null, "", `/queues${search}`);
  for (let loads = 1; ; loads++) {
    vi.resetModules();
    const module = await import("./translate.ts");
    const { updateCatalogue } = await import("./catalogue.ts");
    if (!(await updateCatalogue())) return { ...module, loads };
  }
}

it("returns the English text and loads nothing", async () => {
  const { t, plural, loads } = await load("?q=a%20b");
  expect(t`Retry`).toBe("Retry");
  expect(t`${12_345} of ${"x"}`).toBe("12,345 of x");
  expect(plural(1, "# job of {0}", "# jobs of {0}", "mails")).toBe("1 job of mails");
  expect(plural(1_234, "# job of {0}", "# jobs of {0}", "#{0}")).toBe("1,234 jobs of #{0}");
  expect({ asked, loads }).toEqual({ asked: [], loads: 1 });
  expect(location.search).toBe("?q=a%20b");
});

it("shows the language of the address, remembers it, and returns to English", async () => {
  const polish = {
    Retry: "Ponów",
    "{failed} of {attempts}": "z {attempts}: {failed}",
    "# jobs of {queue}": { one: "{queue}: # zadanie", few: "{queue}: # zadania", other: "{queue}: # zadań" },
  };
  catalogues = { "/labels/pl.json": polish };
  const { t, plural } = await load("?q=x&lang=pl");
  expect(location.search).toBe("?q=x");
  expect(document.documentElement.lang).toBe("pl");
  expect(t`Retry`).toBe("Ponów");
  expect(t`${1} of ${2}`).toBe("z 2: 1");
  expect([1, 2, 5].map((count) => plural(count, "# job of {0}", "# jobs of {0}", "q"))).toEqual([
    "q: 1 zadanie",
    "q: 2 zadania",
    "q: 5 zadań",
  ]);
  // Labels that the catalogue lacks.
  expect(t`Close`).toBe("Close");
  expect(plural(2, "# item", "# items")).toBe("2 items");
  const later = await load("");
  expect([later.t`Retry`, later.loads]).toEqual(["Ponów", 1]);
  // A newer version of the console.
  catalogues = { "/labels/pl.json": { ...polish, Retry: "Powtórz" } };
  const changed = await load("");
  expect([changed.t`Retry`, changed.loads]).toEqual(["Powtórz", 2]);
  expect((await load("?lang=en")).t`Retry`).toBe("Retry");
  expect((await load("")).t`Retry`).toBe("Retry");
});

it("shows relative times in the language", async () => {
  catalogues = { "/labels/pl.json": { now: "teraz", "{text} ago": "{text} temu" } };
  await load("?lang=pl");
  const { relative } = await import("../lib/time.ts");
  expect([relative(1_000, 1_500), relative(1_000, 4_000)]).toEqual(["teraz", "3 s temu"]);
});

it.each(["de", "../x", "", "de.json"])("stays in English for %j, which has no catalogue", async (name) => {
  catalogues = {};
  const { t, loads } = await load(`?lang=${encodeURIComponent(name)}`);
  expect([t`Retry`, loads]).toEqual(["Retry", 1]);
  expect(asked).toEqual(name === "de" ? ["/labels/de.json"] : []);
});

it.each(["null", '{"Retry":null}', '{"error":{"code":1}}', "not JSON"])(
  "ignores stored text that is not a catalogue: %s",
  async (text) => {
    localStorage.setItem("svc.language", "pl");
    localStorage.setItem("svc.labels", text);
    const { t } = await load("?lang=en");
    expect(t`Retry`).toBe("Retry");
    expect(localStorage.getItem("svc.labels")).toBeNull();
  },
);

it("accepts a language with a script and a region, and shows names of values that do not exist as they are", async () => {
  catalogues = { "/labels/zh-Hant-TW.json": { "Hide {name}": "隱藏 {nam}" } };
  const { t } = await load("?lang=zh-Hant-TW");
  expect(t`Hide ${"x"}`).toBe("隱藏 {nam}");
});
