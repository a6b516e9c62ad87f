export type ConfigEditErrorCode =
  /** The file lists the same name for something else. */
  | "name_taken"
  /** The file lists the same folder under another name. */
  | "path_taken"
  /** The engine would reject the file: another entry depends on the removed one or conflicts with the added one. */
  | "would_be_refused"
  /** Another process still holds the edit lock after the timeout. */
  | "locked"
  /** Another program saved the file during each attempt. */
  | "changed_meanwhile"
  /** The layout of the file cannot be edited safely. */
  | "unsupported_layout"
  /** The file system refused the write. The file is unchanged. */
  | "not_written";

/** Thrown when an edit of the config file is not made. The file is unchanged; the message says what to do. */
export class ConfigEditError extends Error {
  readonly code: ConfigEditErrorCode;

  constructor(code: ConfigEditErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ConfigEditError";
    this.code = code;
  }
}
