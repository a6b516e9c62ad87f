// Machines for fault tests, as root: network namespaces with a router between them that can drop their packets.
// `npm run faults` also removes those that a killed test left.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { basename, dirname } from "node:path";
import { fileURLToPath } from "node:url";
import type { Machine } from "@svc-runtime/engine/testing";

const COMMAND_MS = 60_000;
const forwarder = fileURLToPath(new URL("./forward-ports.js", import.meta.url));

/** A cut in the network. */
export interface Cut {
  /** Lets packets pass again. */
  heal(): void;
}

/** Machines that reach one another through a router. Each is a namespace with its own loopback and one link. */
export class Machines {
  readonly all: readonly Machine[];
  readonly #namespaces: string[] = [];
  readonly #forwarders: ChildProcess[] = [];
  readonly #router: string;

  /** `folder`: a test's folder, by whose name the namespaces are unique on this machine. */
  constructor(folder: string, count: number) {
    const prefix = `${basename(dirname(folder))}-${basename(folder)}`;
    this.#router = `${prefix}-router`;
    try {
      this.#addNamespace(this.#router);
      this.#inRouter(["link set lo up"]);
      const forward = "echo 1 > /proc/sys/net/ipv4/ip_forward";
      execFileSync("ip", ["netns", "exec", this.#router, "sh", "-c", forward], { timeout: COMMAND_MS });
      this.all = Array.from({ length: count }, (_, at) => this.#addMachine(`${prefix}-${at + 1}`, at + 1));
    } catch (error) {
      this.#removeNamespaces();
      throw error;
    }
  }

  /** Drops all packets of a machine to and from the others. */
  cutOff({ address }: Machine): Cut {
    return this.#drop([`from ${address}`, `to ${address}`]);
  }

  /** Drops all packets between two machines. */
  cutBetween(one: Machine, other: Machine): Cut {
    return this.#drop([`from ${one.address} to ${other.address}`, `from ${other.address} to ${one.address}`]);
  }

  /**
   * Forwards ports of this machine's loopback to the same ports of a machine's loopback, also while it is cut off.
   * Resolves when connections are accepted.
   */
  async forward({ command }: Machine, ports: readonly number[]): Promise<void> {
    const [program = "", ...args] = [...command, process.execPath, forwarder];
    const child = spawn(program, args, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
    this.#forwarders.push(child);
    for (const port of ports) {
      // A socket stays in the namespace in which it was opened. The process in the other one accepts its connections.
      const server = createServer();
      await once(server.listen(port, "127.0.0.1"), "listening");
      child.send(port, server);
      const [received] = await once(child, "message");
      if (received !== port) throw new Error(`port ${port} was sent to a forwarder, which received ${received}`);
      server.close();
    }
  }

  /** All processes on the machines must have ended. */
  async remove(): Promise<void> {
    for (const child of this.#forwarders) {
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      if (child.exitCode === null && child.signalCode === null) await exited;
    }
    this.#removeNamespaces();
  }

  #addMachine(namespace: string, number: number): Machine {
    const [gateway, address, link] = [`10.77.${number}.1`, `10.77.${number}.2`, `to-${number}`];
    this.#addNamespace(namespace);
    this.#inRouter([
      `link add name ${link} type veth peer name eth0 netns ${namespace}`,
      `addr add ${gateway}/24 dev ${link}`,
      `link set ${link} up`,
    ]);
    inNamespace(namespace, [
      "link set lo up",
      `addr add ${address}/24 dev eth0`,
      "link set eth0 up",
      `route add default via ${gateway}`,
    ]);
    return { address, command: ["ip", "netns", "exec", namespace] };
  }

  /** The router's rule `blackhole` drops packets silently, so that no connection ends. */
  #drop(packets: readonly string[]): Cut {
    const change = (what: "add" | "del"): void =>
      this.#inRouter(packets.map((each) => `rule ${what} ${each} blackhole`));
    change("add");
    return { heal: () => change("del") };
  }

  #inRouter(commands: readonly string[]): void {
    inNamespace(this.#router, commands);
  }

  #addNamespace(name: string): void {
    execFileSync("ip", ["netns", "add", name], { timeout: COMMAND_MS });
    this.#namespaces.push(name);
  }

  #removeNamespaces(): void {
    for (const name of this.#namespaces.splice(0)) execFileSync("ip", ["netns", "del", name], { timeout: COMMAND_MS });
  }
}

function inNamespace(name: string, commands: readonly string[]): void {
  execFileSync("ip", ["-n", name, "-batch", "-"], { input: `${commands.join("\n")}\n`, timeout: COMMAND_MS });
}
