/**
 * Version of this package. It is a constant, because a browser cannot read package.json. A test checks that both are
 * equal.
 */
export const VERSION = "0.1.0";
