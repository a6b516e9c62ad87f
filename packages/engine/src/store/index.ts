/**
 * Parts of the store for modules in packages of their own. They open stores with `ModuleContext.openStore`. Files of
 * procedures import `@svc-runtime/engine/store/procedures`.
 */

export { type Database, openDatabase, type SqlValue } from "./driver.ts";
export { replaceWhole } from "./whole-file.ts";
