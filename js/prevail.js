// prevail in JavaScript: the command for tables, compiled to WebAssembly, run on data in memory.
import { run } from "./wasi.js";

/** What the engine rejected: its message, and its exit code (2: wrong settings or data, 1: failed). */
export class PrevailError extends Error {
  constructor(message, code) {
    super(message);
    this.name = "PrevailError";
    this.code = code;
  }
}

const DATA = "data.csv", MODEL = "the.model", OUTPUT = "output.csv";

const bytesOf = (content) => {
  if (typeof content === "string") return new TextEncoder().encode(content);
  if (content instanceof ArrayBuffer) return new Uint8Array(content);
  if (content instanceof Uint8Array) return content;
  throw new TypeError("data and models are text, a Uint8Array or an ArrayBuffer");
};

// {interval: 0.9, costFn: 2, json: true} to --interval=0.9 --cost-fn=2 --json.
const options = (settings) =>
  Object.entries(settings ?? {}).flatMap(([name, value]) => {
    const option = `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    if (!/^--[a-z][a-z0-9-]*$/.test(option)) throw new TypeError(`${name} is no setting`);
    if (value === undefined || value === null || value === false) return [];
    if (value === true) return [option];
    if (Array.isArray(value)) return [`${option}=${value.join(",")}`];
    if (typeof value === "object") return [`${option}=${Object.entries(value).map(([label, one]) => `${label}=${one}`).join(",")}`];
    return [`${option}=${value}`];
  });

/** The cells of a CSV file that the engine wrote: an object of columns, numbers where all of a column's cells are. */
export function columns(csv) {
  const rows = [[""]];
  let quoted = false;
  for (let i = 0; i < csv.length; i++) {
    const row = rows[rows.length - 1], letter = csv[i];
    if (quoted && letter === '"' && csv[i + 1] === '"') row[row.length - 1] += csv[++i];
    else if (letter === '"') quoted = !quoted;
    else if (!quoted && letter === ",") row.push("");
    else if (!quoted && letter === "\n") rows.push([""]);
    else if (quoted || letter !== "\r") row[row.length - 1] += letter;
  }
  if (rows[rows.length - 1].length === 1 && rows[rows.length - 1][0] === "") rows.pop();
  const [names, ...cells] = rows;
  return Object.fromEntries(
    names.map((name, i) => {
      const column = cells.map((row) => row[i]);
      return [name, column.every((cell) => cell !== "" && !Number.isNaN(Number(cell))) ? Float64Array.from(column, Number) : column];
    }),
  );
}

// A table that the engine wrote; its columns are read when they are asked for.
const tableOf = (done) => {
  const csv = new TextDecoder().decode(done.files.get(OUTPUT));
  let read;
  return {
    csv,
    messages: done.messages,
    get columns() {
      return (read ??= columns(csv));
    },
  };
};

class Engine {
  #module;
  constructor(module) {
    this.#module = module;
  }

  async #call(args, files) {
    const done = await run(this.#module, args, new Map(Object.entries(files).map(([name, content]) => [name, bytesOf(content)])));
    const messages = done.err.trim();
    if (done.code !== 0 && done.code !== 3) throw new PrevailError(messages.replace(/^prevail: /, "") || `exit code ${done.code}`, done.code);
    return { out: done.out, files: done.files, messages, problems: done.code === 3 };
  }

  /** Learns a model from CSV text. settings: the options of `prevail fit`, outcome and prevalence at least. */
  async fit(data, settings, files = {}) {
    const done = await this.#call(["fit", DATA, ...options(settings), "--json", "-o", MODEL], { ...files, [DATA]: data });
    return { model: done.files.get(MODEL), result: JSON.parse(done.out), messages: done.messages, problems: done.problems };
  }

  /** Probabilities for the rows of CSV text. settings: the options of `prevail predict`. */
  async predict(model, data, settings) {
    const done = await this.#call(["predict", MODEL, DATA, ...options(settings), "-o", OUTPUT], { [MODEL]: model, [DATA]: data });
    return tableOf(done);
  }

  /** Metrics with intervals on labelled rows. settings: the options of `prevail eval`. */
  async evaluate(model, data, settings) {
    const done = await this.#call(["eval", MODEL, DATA, ...options(settings), "--json"], { [MODEL]: model, [DATA]: data });
    return { ...JSON.parse(done.out), messages: done.messages };
  }

  /** Moves probabilities to another prevalence. settings: the options of `prevail adjust`. */
  async adjust(data, settings) {
    const done = await this.#call(["adjust", DATA, ...options(settings), "-o", OUTPUT], { [DATA]: data });
    return tableOf(done);
  }

  /** What a model is: its estimates, population and diagnosis. */
  async summary(model) {
    return JSON.parse((await this.#call(["summary", MODEL, "--json"], { [MODEL]: model })).out);
  }

  async version() {
    return (await this.#call(["version"], {})).out.split("\n")[0].split(" ")[1];
  }
}

/** Compiles the engine. source: a module, its bytes, a Response or a URL; by default prevail.wasm next to this file. score.wasm, which is
 * smaller, does not fit. */
export async function load(source = new URL("./prevail.wasm", import.meta.url)) {
  if (source instanceof WebAssembly.Module) return new Engine(source);
  if (source instanceof Uint8Array || source instanceof ArrayBuffer) return new Engine(await WebAssembly.compile(source));
  if (typeof Response !== "undefined" && source instanceof Response) return new Engine(await WebAssembly.compile(await source.arrayBuffer()));
  const url = new URL(source, import.meta.url);
  if (url.protocol === "file:") { // Node's fetch does not read files
    const { readFile } = await import("node:fs/promises");
    return new Engine(await WebAssembly.compile(await readFile(url)));
  }
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url} could not be loaded: ${response.status}`);
  return new Engine(await WebAssembly.compile(await response.arrayBuffer()));
}
