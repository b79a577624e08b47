// The engine for JavaScript and the command with one thread, in turns: the best of each and their ratio. usage: node bench/js.mjs PREVAIL PACKAGE [TURNS]
// PACKAGE is what scripts/js made. 100,000 rows and 7 columns; the command's times have its start in them, the engine's have its own.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [prevail, home, turns = "4"] = process.argv.slice(2).map((word, i) => (i < 2 ? path.resolve(word) : word));
const { load } = await import(pathToFileURL(path.join(home, "prevail.js")));
const work = fs.mkdtempSync(path.join(os.tmpdir(), "engine-"));
const command = (...words) => execFileSync(prevail, words, { cwd: work, stdio: ["ignore", "pipe", "ignore"] });
command("simulate", "nodules", "--cases", "50000", "--controls", "50000", "--seed", "3", "-o", "rows.csv");
command("fit", "rows.csv", "--outcome", "malignant", "--prevalence", "0.02", "-o", "rows.model");
const rows = fs.readFileSync(path.join(work, "rows.csv")), model = fs.readFileSync(path.join(work, "rows.model"));
const engines = {};
for (const name of ["prevail", "score"]) engines[name] = await load(fs.readFileSync(path.join(home, `${name}.wasm`)));

const WORK = {
  predict: [() => command("predict", "rows.model", "rows.csv", "--threads", "1", "-o", "scores.csv"), (engine) => engine.predict(model, rows)],
  evaluate: [() => command("eval", "rows.model", "rows.csv", "--threads", "1", "--json"), (engine) => engine.evaluate(model, rows)],
  fit: [() => command("fit", "rows.csv", "--outcome", "malignant", "--prevalence", "0.02", "--threads", "1", "-o", "other.model"),
    (engine) => engine.fit(rows, { outcome: "malignant", prevalence: 0.02 })],
};
const seconds = async (body) => {
  const begun = performance.now();
  await body();
  return (performance.now() - begun) / 1000;
};
for (const [what, [native, ours]] of Object.entries(WORK)) {
  const names = what === "fit" ? ["prevail"] : ["prevail", "score"];
  const best = { command: Infinity };
  for (let turn = 0; turn < Number(turns); turn++) {
    best.command = Math.min(best.command, await seconds(native));
    for (const name of names) best[name] = Math.min(best[name] ?? Infinity, await seconds(() => ours(engines[name])));
  }
  console.log(`${what}: command ${best.command.toFixed(2)} s; ${names.map((name) => `${name}.wasm ${best[name].toFixed(2)} s (${(best[name] / best.command).toFixed(1)})`).join(", ")}`);
}
fs.rmSync(work, { recursive: true });
