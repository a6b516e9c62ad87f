import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "rolldown";

const tests = fileURLToPath(new URL("../../../src/console/", import.meta.url));
/** The parameters that each page keeps in its address. */
const schemas = fileURLToPath(new URL("../../../../packages/console/src/web/app/search.ts", import.meta.url));
const CALL = /deepLink\(\s*"(\w+)",\s*\[([^\]]*)\]/g;

/**
 * The title of a test that opens a page with these parameters in its address and sees what they do, e.g.
 * `it(deepLink("logs", ["level"], "shows the levels that it names"), async () => …)`.
 * A parameter that no title names is reported by `deep-links.test.ts`, which reads the calls: the names have to stand in them as they are.
 */
export function deepLink(page: string, parameters: readonly string[], what: string): string {
  return `/${page === "dashboard" ? "" : page}?${parameters.join("&")} ${what}`;
}

/** Returns `page.parameter` for each parameter that a test title names. */
export function namedDeepLinks(): string[] {
  const files = readdirSync(tests).filter((file) => file.endsWith(".test.ts"));
  const calls = files.flatMap((file) => [...readFileSync(`${tests}${file}`, "utf8").matchAll(CALL)]);
  return calls.flatMap(([, page, names = ""]) => [...names.matchAll(/"(\w+)"/g)].map(([, name]) => `${page}.${name}`));
}

/** Returns `page.parameter` for each parameter that a page keeps in its address. */
export async function everyParameter(): Promise<string[]> {
  // From the source, because nothing can be imported from the page's bundle.
  const { output } = await build({ input: schemas, write: false });
  const { searchSchemas } = (await import(`data:text/javascript,${encodeURIComponent(output[0].code)}`)) as {
    readonly searchSchemas: Readonly<Record<string, { readonly shape: object }>>;
  };
  return Object.entries(searchSchemas).flatMap(([page, { shape }]) =>
    Object.keys(shape).map((name) => `${page}.${name}`),
  );
}
