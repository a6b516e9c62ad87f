/** Response of `POST /api/login`: the session token, which the page sends with each request. */
export interface Login {
  readonly session: string;
  /** Idle timeout in milliseconds. The session expires after this time without requests. */
  readonly idle_ms: number;
}

/**
 * Header of the console's own 401 responses. It means that the page must log in. A 401 response of the engine that the
 * console passes on does not have this header.
 */
export const LOGIN_HEADER = "x-svc-console-login";

/** Close code of the live socket. It means that the page must log in. */
export const LOGIN_REQUIRED = 4401;
