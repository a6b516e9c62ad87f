/**
 * Parts of the store for modules that are packages of their own. Such modules open stores with
 * `ModuleContext.openStore`. Their files of procedures import `@svc-runtime/engine/store/procedures`.
 */

export { type Database, openDatabase, type SqlValue } from "./driver.ts";
export { replaceWhole } from "./whole-file.ts";
