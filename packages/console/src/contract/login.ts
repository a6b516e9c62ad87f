/** What `POST /api/login` answers: the token of a session, which the page sends with each request from then on. */
export interface Login {
  readonly session: string;
  /** The session ends after this time without use. */
  readonly idle_ms: number;
}

/** Header of a 401 of the console's own: the page has to log in. A 401 of the engine, which the console passes on, does not have it. */
export const LOGIN_HEADER = "x-svc-console-login";

/** Close code of the live socket of a page that has to log in. */
export const LOGIN_REQUIRED = 4401;
