/** Maximum number of calls in one request of the page. */
export const MAX_CALLS = 50;
