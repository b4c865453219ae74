/* eslint-disable no-console */
import type { Logger } from "./logging";
import { retry as again } from "./retry";

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

/** What a request may carry. */
export type RequestOptions<T = unknown> = {
  body?: T;
  headers?: Record<string, string>;
  /** In milliseconds. */
  timeout?: number;
  onProgress?: (loaded: number, total: number) => void;
  signal?: AbortSignal;
};

export interface Transport<Req, Res = Response> extends Disposable, Named {
  readonly baseUrl: string;
  timeout?: number;
  [header: `x-${string}`]: string;
  (request: Req): Promise<Res>;
  new (url: string): Transport<Req, Res>;
  /** Sends it. */
  send(request: Req, ...rest: unknown[]): Promise<Res>;
  close?(): void;
  get open(): boolean;
  on: (event: "open" | "close", listener: () => void) => void;
}

export const enum Level {
  Low = 1,
  High = Low << 2,
}

declare enum Ambient { A }

export const DEFAULT_TIMEOUT = 30_000, RETRIES = 3;
const { protocol, host: hostname, port = "80" } = parseUrl("http://example.com/function fake() {}");
let current: ApiClient | undefined;
export let level!: Level;
var legacy = "class Fake { method() {} }";

/**
 * Reads one thing.
 *
 * @param id its number
 */
export function read(id: number): Promise<Json>;
export function read(id: string, options?: RequestOptions): Promise<Json>;
export async function read(
  id: number | string, // either
  options: RequestOptions = { headers: { accept: "*/*" } },
): Promise<Json> {
  const local = `${id}`;
  function inner<K extends keyof RequestOptions>(key: K): RequestOptions[K] {
    return options[key];
  }
  const helper = (value: string): number => value.length;
  return again(() => inner("body") ?? helper(local));
}

export function isJson(value: unknown): value is Json {
  return true;
}

function assertOk(this: Window, ok: boolean): asserts ok {}

export function* pages<T extends { next?: string } = { next: "}" }>(first: T): Generator<T, void, undefined> {
  yield first;
}

export const parse = async <T,>(text: string, { strict = false }: { strict?: boolean } = {}): Promise<T> => JSON.parse(text);
const legacyParse = function (text: string) {
  return eval(text);
};
export const Mixed = class extends Array<string> {
  size(): number { return this.length; }
};

@sealed
@register({ name: "client", tags: ["http"] })
export abstract class ApiClient<T extends Json = Json> extends mixin(Base, Events)<T> implements Transport<T>, Closeable {
  static readonly VERSION = "1.0";
  static #instances = 0;
  declare private brand: unique symbol;
  @observable accessor state: "idle" | "busy" = "idle";
  protected readonly pending = new Map<string, { started: number; request: Promise<Response>; abort: AbortController }>();
  private handlers?: Array<(event: Event) => void>;

  static {
    const boot = 1;
    ApiClient.#instances += boot;
  }

  constructor(
    private readonly url: string,
    @Inject(LOGGER) protected logger?: Logger,
  ) {
    super();
  }

  /** Whether it is busy. */
  get busy(): boolean { return this.state === "busy"; }
  set busy(value: boolean) { this.state = value ? "busy" : "idle"; }

  send(request: T): Promise<Response>;
  send(request: T, retries: number): Promise<Response>;
  @traced({ level: 2 })
  async send(request: T, /* how often */ retries = 3): Promise<Response> {
    return fetch(this.url);
  }

  abstract encode(value: T): string;
  protected abstract readonly kind: string;
  onClose = (event: CloseEvent): void => { this.busy = false; };
  #secret<U>(x: U): U { return x; }
  async *[Symbol.asyncIterator](): AsyncIterator<T> {}
  static override async create(this: void, url: string): Promise<ApiClient> { throw new Error(url); }
  "quoted-name"(): void {}
}

export namespace Codec.Base64 {
  export const ALPHABET = "A-Za-z0-9+/";
  let cache: string | null = null;
  export function encode(data: Uint8Array): string { return ""; }
  export interface Options { padding: boolean }
  namespace Inner { export class Table { rows = 64; } }
}

declare module "virtual:config" {
  export const config: Record<string, string>;
  export default config;
}

declare global {
  interface Window { client: ApiClient }
  var debug: boolean;
}

declare function gtag(command: "event", name: string, params?: object): void;
declare const BUILD: string;
declare class External { method(a: number): void; static x: string; }

export const routes = {
  list(): string { return "/"; },
  async show(id: string) { return `/${id}`; },
  remove: (id: string): string => `/${id}/delete`,
  prefix: "/api",
} satisfies Routes;

export default async (url: string): Promise<ApiClient> => ApiClient.create(url);
