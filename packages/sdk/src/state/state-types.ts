import type { HelperOptions, ItemFacts, WriteOptions } from "../items/item-types.ts";

/** An item of state with its version. */
export interface StateEntry<Value = unknown> extends ItemFacts {
  readonly key: string;
  readonly value: Value;
}

/** Size of a scope. */
export interface StateGroup {
  readonly scope: string;
  readonly items: number;
  /** Size of the items' JSON, in bytes. */
  readonly bytes: number;
}

/** One write of `setMany`. */
export interface StateWrite extends Pick<WriteOptions, "ifVersion" | "expiresInMs"> {
  readonly scope: string;
  readonly key: string;
  readonly value: unknown;
}

export interface SetManyResult {
  readonly items: readonly { readonly scope: string; readonly key: string; readonly version: number }[];
  readonly durability?: "relaxed" | "memory";
}

/** Selects items of a scope: those with these keys (1 to 1,000), or those whose keys begin with the prefix. */
export type StateSelection = { readonly keys: readonly string[] } | { readonly prefix: string };

/** An item in an export. */
export interface ExportedItem<Value = unknown> {
  readonly scope: string;
  readonly key: string;
  readonly value: Value;
  readonly version: number;
  readonly updated_at: string;
  readonly expires_at?: string;
}

export interface ExportOptions extends HelperOptions {
  /** Default: all scopes. */
  readonly scope?: string | undefined;
  /** Exports only keys that begin with this prefix. */
  readonly prefix?: string | undefined;
}

export interface ImportOptions extends HelperOptions {
  /** How to handle an item that already exists. Default `overwrite`. */
  readonly onExisting?: "overwrite" | "skip" | "fail" | undefined;
}

/** An item to import: a line of an export, or its members. */
export type ImportItem = string | Pick<ExportedItem, "scope" | "key" | "value" | "expires_at">;

export interface ImportResult {
  readonly imported: number;
  readonly skipped: number;
}

export interface SnapshotOptions extends HelperOptions {
  /** Name of the file. By default, it is derived from the current time. */
  readonly name?: string | undefined;
}

export interface SnapshotResult {
  /** Path on the engine's machine. */
  readonly file: string;
  readonly bytes: number;
}

interface StateChange {
  readonly type: "state";
  readonly scope: string;
  readonly key: string;
  readonly version: number;
  /** Time of the change, ISO 8601. */
  readonly updated_at: string;
}

/** Payload of the function of a `state` trigger. */
export type StateEvent<Value = unknown> =
  | (StateChange & { readonly event_type: "state:created"; readonly old_value: null; readonly new_value: Value })
  | (StateChange & { readonly event_type: "state:updated"; readonly old_value: Value; readonly new_value: Value })
  | (StateChange & { readonly event_type: "state:deleted"; readonly old_value: Value; readonly new_value: null });
