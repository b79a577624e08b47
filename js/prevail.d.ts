/** CSV text, or its bytes. */
export type Data = string | Uint8Array | ArrayBuffer;
export type Setting = string | number | boolean | null | undefined | readonly (string | number)[] | Readonly<Record<string, string | number>>;
/** Options of the command of the same name, as in its help; names in camelCase or with dashes. true: a flag. */
export type Settings = Readonly<Record<string, Setting>>;

export interface Metric {
  value: number | null;
  lo?: number | null;
  hi?: number | null;
}
export interface Fit {
  /** The model file, which every prevail reads. */
  model: Uint8Array;
  /** What `prevail fit --json` prints. */
  result: Record<string, unknown>;
  /** Warnings and notes. */
  messages: string;
  /** Whether a diagnosis found problems (exit code 3). */
  problems: boolean;
}
export interface Table {
  csv: string;
  columns: Record<string, Float64Array | string[]>;
  messages: string;
}
export interface Evaluation {
  /** What `prevail eval --json` prints. */
  metrics: Record<string, Metric>;
  messages: string;
  [name: string]: unknown;
}
export declare class PrevailError extends Error {
  /** 2: wrong settings or data; 1: failed. */
  code: number;
}
export interface Engine {
  fit(data: Data, settings: Settings, files?: Readonly<Record<string, Data>>): Promise<Fit>;
  predict(model: Data, data: Data, settings?: Settings): Promise<Table>;
  evaluate(model: Data, data: Data, settings?: Settings): Promise<Evaluation>;
  adjust(data: Data, settings: Settings): Promise<Table>;
  summary(model: Data): Promise<Record<string, unknown>>;
  version(): Promise<string>;
}
export declare function columns(csv: string): Record<string, Float64Array | string[]>;
export declare function load(source?: WebAssembly.Module | Uint8Array | ArrayBuffer | Response | URL | string): Promise<Engine>;
