import type { IncomingMessage } from "node:http";
import { isDeepStrictEqual } from "node:util";
import { CallError } from "@svc-runtime/protocol";
import { ANONYMOUS, type Grants, grantsOfRole, THROUGH_MIDDLEWARE } from "../access/grants.ts";
import { policyOf } from "../access/policy.ts";
import { SessionAccess } from "../access/session-access.ts";
import type { AccessSettings, RbacSettings, RoleSettings } from "../access/settings.ts";
import type { Logger } from "../kernel/logger.ts";
import type { Router } from "../kernel/router.ts";
import type { ThrottledLog } from "../kernel/throttled-log.ts";
import { askAuthFunction } from "./ask-auth-function.ts";
import { credentialsOf, digestOf, isToken } from "./credentials.ts";
import { headersOf, queryOf } from "./request-facts.ts";
import {
  MISSING_TOKEN,
  type Refusal,
  type TokenGuard,
  unauthorized,
  WRONG_TOKEN,
  WRONG_TOKEN_OF_ROLE,
} from "./token-guard.ts";

/**
 * Maximum number of handshakes of one listener that wait for its auth function. Further handshakes are refused with
 * 503.
 */
const MAX_WAITING = 256;

export type Admission = Admitted | { readonly admitted: false; readonly refusal: Refusal };

export interface Admitted {
  readonly admitted: true;
  /** Permissions of the connection. Undefined for a connection without restrictions. */
  readonly access: SessionAccess | undefined;
  /**
   * Returns false if the rules have changed since the connection was admitted, so that its token is no longer valid, or
   * the connection would get other permissions now.
   */
  readonly isCurrent: () => boolean;
}

/** Admission of a connection without restrictions, to a listener without access settings. */
export const UNRESTRICTED: Admitted = { admitted: true, access: undefined, isCurrent: () => true };

/** The role of a token. */
interface TokenRole {
  readonly digest: Buffer;
  readonly settings: RoleSettings;
  readonly grants: Grants;
}

/** Returns the rules that apply to every connection of a listener, independent of its role. */
function rulesForAll({ rbac, ...others }: AccessSettings): unknown {
  if (rbac === undefined) return others;
  const { roles: _roles, tokens: _tokens, ...rules } = rbac;
  return { ...others, rules };
}

export interface AdmissionPorts {
  /** Calls the auth function. */
  readonly router: Router;
  readonly log: Logger;
  readonly throttledLog: ThrottledLog;
}

/** Decides whether clients may connect to one bridge listener, before the WebSocket is accepted. */
export class Admissions {
  readonly #ports: AdmissionPorts;
  readonly #guard: TokenGuard;
  readonly #settings: () => AccessSettings;
  /** Admission of clients with the engine's token. The rules do not apply to these clients. */
  readonly #holder: Admitted = { admitted: true, access: undefined, isCurrent: () => !this.isRemoved };
  readonly #roles = new WeakMap<RbacSettings, readonly TokenRole[]>();
  /** Admissions to listeners without rules, by the settings of the listener. */
  readonly #open = new WeakMap<AccessSettings, Admitted>();
  #waiting = 0;

  constructor(ports: AdmissionPorts, guard: TokenGuard, settings: () => AccessSettings) {
    this.#ports = ports;
    this.#guard = guard;
    this.#settings = settings;
  }

  /** True if the config file no longer has the listener. */
  get isRemoved(): boolean {
    return this.#settings().isRemoved === true;
  }

  /**
   * Decides whether the request is admitted. Returns a promise only if an auth function decides. `signal` aborts when
   * the client disconnects. The promise never rejects.
   */
  decide(request: IncomingMessage, signal: AbortSignal): Admission | Promise<Admission> {
    const settings = this.#settings();
    const { rbac } = settings;
    // Includes workers that the engine started, because they have the engine's token.
    if (this.#guard.isHolder(request)) return this.#holder;
    const credentials = credentialsOf(request);
    const role = credentials.kind === "token" ? this.#roleOf(credentials.token, rbac) : undefined;
    if (role !== undefined) return this.#admit(role.grants, settings, role);
    if (rbac?.authFunctionId !== undefined) return this.#ask(request, rbac.authFunctionId, settings, signal);
    if (credentials.kind !== "none")
      return this.#refuse(request, unauthorized(rbac?.tokens.length ? WRONG_TOKEN_OF_ROLE : WRONG_TOKEN));
    if (settings.tokenRequired) return this.#refuse(request, unauthorized(MISSING_TOKEN));
    if (rbac !== undefined) return this.#admit(ANONYMOUS, settings);
    if (settings.middlewareFunctionId !== undefined) return this.#admit(THROUGH_MIDDLEWARE, settings);
    return this.#withoutRules(settings);
  }

  /** Returns one shared object for all connections to save memory, because there may be ten thousand connections. */
  #withoutRules(settings: AccessSettings): Admitted {
    let admitted = this.#open.get(settings);
    if (admitted === undefined) {
      admitted = { admitted: true, access: undefined, isCurrent: this.#whileRulesStay(settings) };
      this.#open.set(settings, admitted);
    }
    return admitted;
  }

  async #ask(
    request: IncomingMessage,
    authFunctionId: string,
    settings: AccessSettings,
    signal: AbortSignal,
  ): Promise<Admission> {
    if (this.#waiting >= MAX_WAITING) {
      return this.#refuse(
        request,
        unavailable("overloaded", `${MAX_WAITING} connections are already waiting to be admitted; try again later`),
      );
    }
    this.#waiting++;
    try {
      return this.#admit(
        await askAuthFunction(this.#ports.router, authFunctionId, handshakeOf(request), signal),
        settings,
      );
    } catch (thrown) {
      const { code, message } = CallError.from(thrown);
      return this.#refuse(request, code === "AUTH_ERROR" ? unauthorized(message) : unavailable(code, message));
    } finally {
      this.#waiting--;
    }
  }

  #admit(grants: Grants, settings: AccessSettings, role?: TokenRole): Admission {
    return {
      admitted: true,
      access: new SessionAccess(grants, policyOf(settings)),
      isCurrent: this.#whileRulesStay(settings, role),
    };
  }

  #whileRulesStay(settings: AccessSettings, role?: TokenRole): () => boolean {
    return () => {
      const now = this.#settings();
      if (now === settings) return true;
      if (!isDeepStrictEqual(rulesForAll(now), rulesForAll(settings))) return false;
      if (role === undefined) return true;
      const found =
        now.rbac === undefined ? undefined : this.#tokensOf(now.rbac).find(({ digest }) => digest.equals(role.digest));
      return found !== undefined && isDeepStrictEqual(found.settings, role.settings);
    };
  }

  #refuse({ socket, url }: IncomingMessage, refusal: Refusal): Admission {
    this.#ports.throttledLog.warn(this.#ports.log, socket.remoteAddress ?? "", "a connection was refused", {
      reason: refusal.message,
      status: refusal.status,
      path: url?.split("?", 1)[0],
      remoteAddress: socket.remoteAddress,
    });
    return { admitted: false, refusal };
  }

  /** Returns the role of a token. Compares all tokens, so that the duration does not reveal which one matches. */
  #roleOf(token: string, rbac: RbacSettings | undefined): TokenRole | undefined {
    if (rbac === undefined || rbac.tokens.length === 0) return undefined;
    let found: TokenRole | undefined;
    for (const role of this.#tokensOf(rbac)) if (isToken(token, role.digest)) found = role;
    return found;
  }

  #tokensOf(rbac: RbacSettings): readonly TokenRole[] {
    const known = this.#roles.get(rbac);
    if (known !== undefined) return known;
    const roles = new Map(rbac.roles.map((settings) => [settings.name, { settings, grants: grantsOfRole(settings) }]));
    const tokens = rbac.tokens.flatMap(({ token, role }) => {
      const found = roles.get(role);
      return found === undefined ? [] : [{ digest: digestOf(token), ...found }];
    });
    this.#roles.set(rbac, tokens);
    return tokens;
  }
}

function unavailable(code: string, message: string): Refusal {
  return { status: "503 Service Unavailable", code, message, headers: { "retry-after": "1" } };
}

/** Returns the input of the auth function: headers as strings, and decoded query parameters. */
function handshakeOf(request: IncomingMessage): Readonly<Record<string, unknown>> {
  return {
    headers: headersOf(request),
    query_params: queryOf(request),
    ip_address: (request.socket.remoteAddress ?? "").replace(/^::ffff:/, ""),
  };
}
