/** The store for modules in packages of their own. Files of procedures import `@svc-runtime/engine/store/procedures`. */

export { type Database, openDatabase, type SqlValue } from "./driver.ts";
export { openStore, type Store } from "./store.ts";
export { replaceWhole } from "./whole-file.ts";
