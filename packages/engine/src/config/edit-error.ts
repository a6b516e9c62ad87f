export type ConfigEditErrorCode =
  /** The file lists the same name for something else. */
  | "name_taken"
  /** The file lists the same folder under another name. */
  | "path_taken"
  /** The engine would not take the file up: something else in it needs what goes, or stands in the way of what comes. */
  | "would_be_refused"
  /** Another edit does not end. */
  | "locked"
  /** Somebody saved the file again and again while it was edited. */
  | "changed_meanwhile"
  /** The file is laid out in a way that cannot be edited without damage. */
  | "unsupported_layout"
  /** The file system refused; the file is as it was. */
  | "not_written";

/** An edit of the config file that was not made. The file is untouched; the message says what to do. */
export class ConfigEditError extends Error {
  readonly code: ConfigEditErrorCode;

  constructor(code: ConfigEditErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ConfigEditError";
    this.code = code;
  }
}
