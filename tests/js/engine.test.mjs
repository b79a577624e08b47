// usage: node engine.test.mjs PREVAIL FOLDER [CHROMIUM]; FOLDER/package is what scripts/js made. Compares with the command to 1e-12.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import zlib from "node:zlib";

const [command_path, folder, chromium] = process.argv.slice(2);
const prevail = path.resolve(command_path);
const home = path.resolve(folder, "package");
const { load, columns, PrevailError } = await import(pathToFileURL(path.join(home, "prevail.js")));
const work = fs.mkdtempSync(path.join(path.resolve(folder), "work-"));
const at = (name) => path.join(work, name);
const command = (...args) => execFileSync(prevail, args, { cwd: work, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });

let passed = 0, failed = 0, worst = 0;
async function check(what, body) {
  try {
    await body();
    passed++;
  } catch (problem) {
    failed++;
    console.log(`FAILED: ${what}: ${problem.stack}`);
  }
}

const SKIPPED = new Set(["seconds", "model", "file", "saved", "command", "threads", "messages", "warnings"]);
function near(a, b, place, tolerance) {
  if (typeof a === "number" && typeof b === "number") {
    const off = Math.abs(a - b) / Math.max(1, Math.abs(a));
    assert(off <= tolerance, `${place}: ${a} and ${b}`);
    worst = Math.max(worst, off);
  } else if (a && b && typeof a === "object" && typeof b === "object") {
    const names = Object.keys(a).filter((name) => !SKIPPED.has(name));
    assert.deepEqual(names, Object.keys(b).filter((name) => !SKIPPED.has(name)), place);
    for (const name of names) near(a[name], b[name], `${place}.${name}`, tolerance);
  } else {
    assert.deepEqual(a, b, place);
  }
}

command("simulate", "nodules", "--cases", "300", "--controls", "400", "--seed", "3", "-o", "rows.csv");
const rows = fs.readFileSync(at("rows.csv"), "utf8");
const engine = await load();
const base = { outcome: "malignant", prevalence: 0.02, seed: 5 };
const FITS = {
  linear: {},
  draws: { infer: "laplace" },
  robust: { infer: "robust" },
  additive: { model: "additive" },
  mlp: { model: "mlp:3", infer: "map" },
  plain: { loss: "plain" },
};

for (const [name, settings] of Object.entries(FITS)) {
  await check(name, async () => {
    const args = Object.entries({ ...base, ...settings }).flatMap(([key, value]) => [`--${key}`, String(value)]);
    const theirs = JSON.parse(command("fit", "rows.csv", ...args, "--json", "-o", `${name}.model`));
    const ours = await engine.fit(rows, { ...base, ...settings });
    near(theirs.loss, ours.result.loss, `${name} loss`, 1e-12);
    const interval = name === "draws" ? { interval: 0.9 } : {};
    const how = name === "draws" ? ["--interval", "0.9"] : [];
    fs.writeFileSync(at(`${name}.ours`), ours.model);
    // Either's model by either: the same file to 1e-12, fits of their own too.
    command("predict", `${name}.model`, "rows.csv", ...how, "-o", "one.csv");
    command("predict", `${name}.ours`, "rows.csv", ...how, "-o", "two.csv");
    const [one, two] = ["one.csv", "two.csv"].map((file) => columns(fs.readFileSync(at(file), "utf8")));
    const three = (await engine.predict(fs.readFileSync(at(`${name}.model`)), rows, interval)).columns;
    const four = (await engine.predict(ours.model, rows, interval)).columns;
    assert.equal(one.p__1.length, 700);
    near(one, three, `${name}: the command's model`, 1e-12);
    near(two, four, `${name}: its own model`, 1e-12);
    near(one, four, `${name}: fits`, 1e-12);
  });
}

await check("evaluation", async () => {
  const theirs = JSON.parse(command("eval", "linear.model", "rows.csv", "--seed", "1", "--json"));
  const ours = await engine.evaluate(fs.readFileSync(at("linear.model")), rows, { seed: 1 });
  assert(Number.isFinite(theirs.metrics.auc.value));
  near(theirs.metrics, ours.metrics, "metrics", 1e-12);
});
await check("an unknown prevalence", async () => {
  command("predict", "linear.model", "rows.csv", "--population", "unknown", "-o", "unknown.csv");
  const ours = await engine.predict(fs.readFileSync(at("linear.model")), rows, { population: "unknown" });
  near(columns(fs.readFileSync(at("unknown.csv"), "utf8")), ours.columns, "unknown", 1e-12);
});
await check("summary", async () => {
  near(JSON.parse(command("summary", "linear.model", "--json")), await engine.summary(fs.readFileSync(at("linear.model"))), "summary", 1e-12);
});
await check("version", async () => {
  assert.equal(await engine.version(), JSON.parse(fs.readFileSync(path.join(home, "package.json"))).version);
});
await check("what is rejected", async () => {
  await assert.rejects(engine.fit(rows, { outcome: "nothing", prevalence: 0.01 }), (problem) =>
    problem instanceof PrevailError && problem.code === 2 && problem.message.includes("no column 'nothing'"));
  await assert.rejects(engine.predict("not a model", rows), (problem) => problem.code === 2);
  await assert.rejects(engine.predict(fs.readFileSync(at("linear.model")), "a,b\n1,2\n"), (problem) => problem.code === 2);
  await assert.rejects(engine.fit(rows, { "x; y": 1 }), TypeError);
});
const scoring = await load(fs.readFileSync(path.join(home, "score.wasm")));
await check("score.wasm: predict, evaluate, adjust, summary", async () => {
  const model = fs.readFileSync(at("linear.model"));
  command("predict", "linear.model", "rows.csv", "--interval", "0.9", "-o", "one.csv");
  near(columns(fs.readFileSync(at("one.csv"), "utf8")), (await scoring.predict(model, rows, { interval: 0.9 })).columns, "predict", 1e-12);
  const theirs = JSON.parse(command("eval", "linear.model", "rows.csv", "--seed", "1", "--json"));
  near(theirs.metrics, (await scoring.evaluate(model, rows, { seed: 1 })).metrics, "metrics", 1e-12);
  near(JSON.parse(command("summary", "linear.model", "--json")), await scoring.summary(model), "summary", 1e-12);
  command("adjust", "one.csv", "--from", "0.02", "--to", "0.1", "-o", "two.csv");
  const moved = await scoring.adjust(fs.readFileSync(at("one.csv")), { from: 0.02, to: 0.1 });
  near(columns(fs.readFileSync(at("two.csv"), "utf8")), moved.columns, "adjust", 1e-12);
});
await check("score.wasm does not fit", async () => {
  await assert.rejects(scoring.fit(rows, base), (problem) => problem.code === 2 && problem.message.includes("fit"));
});
await check("what the engines leave out is rejected", async () => {
  const model = fs.readFileSync(at("linear.model"));
  await assert.rejects(engine.evaluate(model, rows, { report: "x.html" }), /does not write reports/);
  await assert.rejects(engine.fit(rows, { ...base, report: "x.html" }), /does not write reports/);
  command("simulate", "ct-nodules", "--cases", "2", "--controls", "2", "-o", "images.npz");
  await assert.rejects(engine.predict(model, fs.readFileSync(at("images.npz"))), /arrays are not read by the engine/);
  await assert.rejects(engine.fit(rows, { ...base, sample: "sqlite:x.db?rows" }, { "x.db": "" }), (problem) => problem.code === 2);
});
await check("gzip with another checksum is rejected", async () => {
  const packed = zlib.gzipSync(rows);
  packed[packed.length - 8] ^= 1;
  await assert.rejects(engine.predict(fs.readFileSync(at("linear.model")), packed), (problem) => problem.code === 2);
});
await check("cells in quotation marks", () => {
  assert.deepEqual(columns('a,"b ""c"""\n"x,\ny",1\nz,2\n'), { a: ["x,\ny", "z"], 'b "c"': Float64Array.of(1, 2) });
});
await check("gzip of a table is read", async () => {
  const ours = await engine.predict(fs.readFileSync(at("linear.model")), zlib.gzipSync(rows));
  near(columns(fs.readFileSync(at("one.csv"), "utf8")).p__1.length, ours.columns.p__1.length, "rows", 0);
});

// The same in a browser, offline.
let playwright;
try {
  playwright = createRequire(path.join(process.env.NODE_PATH || "/nowhere", "x.js"))("playwright-core");
} catch {
  console.log("SKIPPED [browser] playwright-core is missing (tests/browser/run.sh installs it)");
}
if (playwright && chromium) {
  const browser = await playwright.chromium.launch({ executablePath: chromium, args: ["--no-sandbox"] });
  const context = await browser.newContext();
  const types = { ".js": "text/javascript", ".wasm": "application/wasm" };
  await context.route("**/*", (route) => {
    const name = path.basename(new URL(route.request().url()).pathname);
    if (name === "page") return route.fulfill({ contentType: "text/html", body: "<!doctype html><title>engine</title>" });
    return fs.existsSync(path.join(home, name))
      ? route.fulfill({ contentType: types[path.extname(name)], body: fs.readFileSync(path.join(home, name)) })
      : route.abort();
  });
  const page = await context.newPage();
  await check("Chromium: fit and predict", async () => {
    await page.goto("http://prevail.test/page");
    const found = await page.evaluate(async ([csv, settings]) => {
      const { load } = await import("http://prevail.test/prevail.js");
      const engine = await load();
      const { model } = await engine.fit(csv, settings);
      return [...(await engine.predict(model, csv)).columns.p__1];
    }, [rows, base]);
    command("predict", "linear.model", "rows.csv", "-o", "one.csv");
    near([...columns(fs.readFileSync(at("one.csv"), "utf8")).p__1], found, "Chromium", 1e-12);
  });
  await check("a report with the engine scores rows, offline", async () => {
    command("eval", "linear.model", "rows.csv", "--bootstrap", "100", "--report", "plain.html");
    command("eval", "linear.model", "rows.csv", "--bootstrap", "100", "--report", "report.html", "--engine", path.resolve(folder, "engine.js"));
    assert(!fs.readFileSync(at("plain.html"), "utf8").includes("wasm"), "a page without the engine has none of it");
    const text = fs.readFileSync(at("report.html"), "utf8");
    assert.match(text, /Content-Security-Policy[^>]*'wasm-unsafe-eval'; connect-src 'none'/);
    const alone = await browser.newContext({ offline: true });
    const report = await alone.newPage();
    const requests = [], errors = [];
    report.on("request", (request) => /^(file|blob|data):/.test(request.url()) || requests.push(request.url()));
    report.on("pageerror", (problem) => errors.push(problem.message));
    report.on("console", (message) => message.type() === "error" && errors.push(message.text()));
    await report.goto(pathToFileURL(at("report.html")).href);
    await report.locator("#score-controls").waitFor({ timeout: 60000 });
    const done = () => report.waitForFunction(() => /were scored|data\.csv:/.test(document.getElementById("score-status").textContent), null, { timeout: 60000 });
    const cells = () => report.locator("#score-result a").evaluate(async (link) => link.download);
    await report.setInputFiles("#score-file", at("rows.csv"));
    await done();
    assert.equal(await report.locator("#score-status").textContent(), "700 rows of rows.csv were scored and evaluated.");
    assert.equal(await cells(), "scores.csv");
    // Scores as the page offers them, to the last digit of the command's to 1e-12.
    const waiting = report.waitForEvent("download");
    await report.locator("#score-result a").click();
    const saved = fs.readFileSync(await (await waiting).path(), "utf8");
    command("predict", "linear.model", "rows.csv", "-o", "one.csv");
    near(columns(fs.readFileSync(at("one.csv"), "utf8")), columns(saved), "scores", 1e-12);
    const auc = JSON.parse(command("eval", "linear.model", "rows.csv", "--json")).metrics.auc.value;
    const row = await report.locator("#score-result table").nth(1).locator("tr", { has: report.locator("td", { hasText: /^auc$/ }) }).allTextContents();
    assert(row[0].startsWith(`auc${auc.toPrecision(4)}`), `${row} and ${auc}`);
    // Another population; rows that lack a column.
    await report.evaluate(() => (document.getElementById("score-status").textContent = ""));
    await report.fill("#score-prevalence", "0.3");
    await report.locator("#score-prevalence").blur();
    await done();
    command("predict", "linear.model", "rows.csv", "--population", "known:0.3", "-o", "two.csv");
    const first = columns(fs.readFileSync(at("two.csv"), "utf8")).p__1[0];
    const top = await report.locator("#score-result table").first().locator("tbody tr").first().locator("td").allTextContents();
    assert.equal(top[2], first.toPrecision(4));
    fs.writeFileSync(at("wrong.csv"), "a,b\n1,2\n");
    await report.evaluate(() => (document.getElementById("score-status").textContent = ""));
    await report.setInputFiles("#score-file", at("wrong.csv"));
    await done();
    assert.match(await report.locator("#score-status").textContent(), /^data\.csv:/);
    // The policy: the page can connect to nothing.
    const refused = await report.evaluate(() => fetch("https://example.org/").then(() => "reached", () => "refused"));
    assert.equal(refused, "refused");
    assert.deepEqual(requests, []);
    assert(errors.every((text) => /Content Security Policy|ERR_INTERNET|Failed to fetch|Refused to connect/.test(text)), errors.join("; "));
    await alone.close();
  });
  await check("the site's start page fits, from disk and offline", async () => {
    const source = path.resolve(path.dirname(process.argv[1]), "../../docs");
    fs.mkdirSync(at("assets"));
    fs.copyFileSync(path.join(source, "assets/live.js"), at("assets/live.js"));
    fs.copyFileSync(path.resolve(folder, "site.js"), at("assets/engine.js"));
    fs.writeFileSync(at("start.html"), `<!doctype html><meta charset="utf-8"><title>start</title>${fs.readFileSync(path.join(source, "theme/live.html"), "utf8")}`);
    const alone = await browser.newContext({ offline: true });
    const start = await alone.newPage();
    const problems = [];
    start.on("request", (request) => /^(file|blob|data):/.test(request.url()) || problems.push(request.url()));
    start.on("pageerror", (problem) => problems.push(problem.message));
    await start.goto(pathToFileURL(at("start.html")).href);
    assert.equal(await start.locator("#live pre").isVisible(), false);
    const press = async () => {
      await start.click("#live button");
      await start.locator("#live button:enabled").waitFor({ timeout: 60000 });
      return [await start.locator("#live output").textContent(), await start.locator("#live pre").textContent()];
    };
    const [status, printed] = await press();
    const words = ["fit", "builtin:esoph", "--outcome", "cancer", "--weights", "count", "--prevalence", "0.0005"];
    assert.equal(status, "This is what the command prints.");
    assert(printed.startsWith(`$ prevail ${words.join(" ")}\n`), printed);
    assert(printed.endsWith(command(...words)), printed);
    // A table of the reader's, and one that is rejected.
    await start.fill("#live-data", rows);
    await start.fill("[name=outcome]", "malignant");
    await start.fill("[name=prevalence]", "0.02");
    assert((await press())[1].endsWith(command("fit", "rows.csv", "--outcome", "malignant", "--prevalence", "0.02").replaceAll("rows.csv", "data.csv")));
    await start.fill("[name=outcome]", "nothing");
    const [rejected, why] = await press();
    assert.equal(rejected, "The command ends with exit code 2.");
    assert.match(why, /no column 'nothing'/);
    assert.deepEqual(problems, []);
    await alone.close();
  });
  await browser.close();
}
await check("no other file is taken for the engine", () => {
  const refusal = (...args) => {
    try {
      execFileSync(prevail, args, { cwd: work, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
    } catch (problem) {
      return `${problem.status}: ${problem.stderr}`;
    }
    return "accepted";
  };
  assert.match(refusal("eval", "linear.model", "rows.csv", "--report", "x.html", "--engine", "rows.csv"), /^2: [^]*is not an engine/);
  fs.writeFileSync(at("bad.js"), "/* prevail engine 0.1.0 */ </SCRIPT>");
  assert.match(refusal("eval", "linear.model", "rows.csv", "--report", "x.html", "--engine", "bad.js"), /^2: [^]*is not an engine/);
  assert.match(refusal("eval", "linear.model", "rows.csv", "--engine", "bad.js"), /^2: .*--engine is for/);
});

fs.rmSync(work, { recursive: true });
const LIMITS = { "score.wasm": 400000, "prevail.wasm": 560000 };
const sizes = Object.keys(LIMITS).map((name) => [name, zlib.gzipSync(fs.readFileSync(path.join(home, name)), { level: 9 }).length]);
await check("size", () => {
  for (const [name, size] of sizes) assert(size < LIMITS[name], `${name} has ${size} bytes gzipped`);
});
console.log(`gzipped: ${sizes.map(([name, size]) => `${name} ${Math.round(size / 1000)} kB`).join(", ")}; at most ${worst.toExponential(1)} from the command`);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
