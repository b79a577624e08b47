/* Reports in a real browser: what they say against the command's own numbers, and whether everyone can read them.
   usage: node report.test.js PREVAIL FOLDER CHROMIUM REPOSITORY; tests/browser/run.sh gives the arguments. */
"use strict";
const { execFileSync, spawnSync } = require("child_process");
const fs = require("fs");
const path = require("path");
const { chromium } = require("playwright-core");
const { makeReports } = require("./make_reports.js");

const [prevail, folder, executablePath, repository] = process.argv.slice(2).map((p) => path.resolve(p));
const work = path.join(folder, "work"), shots = path.join(folder, "shots");
const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
let browser;

/* ---- helpers ------------------------------------------------------------------------------------------------------ */

function assert(truth, text) { if (!truth) throw new Error(text); }

function near(page, command, what) {
  if (command === null || Number.isNaN(command)) return assert(Number.isNaN(page), `${what}: undefined, but the page has ${page}`);
  assert(Math.abs(page - command) <= 1e-6 * Math.max(1, Math.abs(command)), `${what}: page ${page}, command ${command}`);
}

function evalJson(args) {
  return JSON.parse(execFileSync(prevail, ["eval", ...args, "--bootstrap", "0", "--json"], { cwd: work, maxBuffer: 1 << 28 }));
}

/* A page that fails the test on any console error, dialog or request that leaves it. */
async function open(file, options = {}, hash = "") {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  await context.grantPermissions(["clipboard-read", "clipboard-write"]).catch(() => {});
  const page = await context.newPage();
  page.complaints = [];
  page.on("console", (m) => { if (["error", "warning"].includes(m.type())) page.complaints.push(m.text()); });
  page.on("pageerror", (e) => page.complaints.push(e.message));
  page.on("dialog", (d) => { page.complaints.push("a dialog: " + d.message()); d.dismiss(); });
  page.on("request", (r) => { if (!/^(file|data):/.test(r.url())) page.complaints.push("a request: " + r.url()); });
  await page.goto("file://" + path.join(work, file) + hash);
  return page;
}

async function close(page) {
  const complaints = page.complaints;
  await page.context().close();
  assert(complaints.length === 0, complaints.join("; "));
}

async function set(page, id, value) {
  await page.fill("#ex-" + id, String(value));
  await page.dispatchEvent("#ex-" + id, "change");
}

/* Every number that the explorer shows, in full. */
async function shown(page) {
  return page.evaluate(() => {
    const values = {};
    document.querySelectorAll("#ex-confusion td[id], #ex-values td[id]").forEach((cell) => {
      values[cell.id.slice(3)] = cell.dataset.value === "" ? NaN : Number(cell.dataset.value);
    });
    return values;
  });
}

/* ---- tests -------------------------------------------------------------------------------------------------------- */

const tests = [];
const test = (name, run) => tests.push([name, run]);

function compareWithMetrics(values, pi, metrics) {
  for (const name of ["tpr", "tnr", "ppv", "npv", "informedness", "markedness"])
    near(values[name], metrics[name].value, `${name} at prevalence ${pi}`);
  near(values.tp, metrics.tpr.value * pi * 1e5, "true positives");
  near(values["fp-count"], (1 - metrics.tnr.value) * (1 - pi) * 1e5, "false positives");
  near(values["fn-count"], (1 - metrics.tpr.value) * pi * 1e5, "false negatives");
  near(values.tn, metrics.tnr.value * (1 - pi) * 1e5, "true negatives");
  near(values.called + values.spared, 1e5, "all people");
}

test("explorer: prevalence and equal costs, against eval", async () => {
  const page = await open("exact.html");
  await set(page, "fp", 1);
  await set(page, "fn", 1);
  for (const pi of [0.002, 0.03, 0.25, 0.5, 0.9]) {
    await set(page, "pi", pi);
    compareWithMetrics(await shown(page), pi,
      evalJson(["exact.model", "test.csv", "--population", "known:" + pi, "--stated-for", String(pi)]).metrics);
  }
  await close(page);
});

test("explorer: each slider, against eval", async () => {
  const page = await open("exact.html");
  const args = (pi) => ["exact.model", "test.csv", "--population", "known:" + pi, "--stated-for", String(pi), "--points", "0", "--curves", "-"];
  await set(page, "pi", 0.3);
  for (const [id, keys] of [["fp", 12], ["fn", 30], ["pi", 9]]) {
    await page.focus(`#ex-${id}-range`);
    const before = await page.inputValue("#ex-" + id);
    for (let i = 0; i < keys; i++) await page.keyboard.press("ArrowRight");
    assert((await page.inputValue("#ex-" + id)) !== before, `the slider ${id} moves nothing`);
    await compareRates(page, args, false);
  }
  await page.uncheck("#ex-lock");
  await page.focus("#ex-t-range");
  for (let i = 0; i < 50; i++) await page.keyboard.press("ArrowLeft");
  await compareRates(page, args, true);
  await close(page);
});

/* Rates from eval's ROC curve at the page's threshold; the rest follows from them. */
async function compareRates(page, args, unlocked) {
  const state = Object.fromEntries((await page.evaluate(() => location.hash.slice(1))).split("&").map((p) => [p.split("=")[0], Number(p.split("=")[1])]));
  assert(unlocked === "t" in state, "the address does not say whether the threshold is unlocked");
  const t = unlocked ? state.t : state.fp / (state.fp + state.fn), values = await shown(page);
  const roc = evalJson(args(state.pi)).curves.roc;
  const at = roc.threshold.reduce((last, threshold, i) => (threshold === null || threshold >= t - 1e-12 ? i : last), 0);
  near(values.tpr, roc.tpr[at], "tpr");
  near(values.tnr, 1 - roc.fpr[at], "tnr");
  const tp = state.pi * roc.tpr[at], fp = (1 - state.pi) * roc.fpr[at], fn = state.pi - tp;
  near(values.cost / 1e5, state.fp * fp + state.fn * fn, "cost");
  near(values.benefit / 1e5, tp - fp * state.fp / state.fn, "net benefit");
}

test("explorer: net benefit, against the decision curve", async () => {
  const page = await open("exact.html");
  await set(page, "pi", 0.3);
  const curve = evalJson(["exact.model", "test.csv", "--population", "known:0.3", "--stated-for", "0.3", "--curves", "-"]).curves.net_benefit;
  for (const i of [9, 19, 49, 79]) {
    const t = curve.threshold[i];
    await set(page, "fp", t);
    await set(page, "fn", 1 - t);
    near((await shown(page)).benefit / 1e5, curve.net_benefit[i], "net benefit at " + t);
  }
  await close(page);
});

test("explorer: thinned thresholds are exact where the page says so", async () => {
  const page = await open("thinned.html");
  assert(/this page contains/.test(await page.textContent("#explorer")), "the page does not say that thresholds are thinned");
  for (const pi of [0.01, 0.2]) {
    await set(page, "pi", pi);
    const values = await shown(page);
    const roc = evalJson(["exact.model", "many.csv", "--population", "known:" + pi, "--points", "0", "--curves", "-"]).curves.roc;
    const at = roc.threshold.reduce((last, t, i) => (t === null || t >= values.used * (1 - 1e-11) ? i : last), 0);
    near(values.tpr, roc.tpr[at], "tpr");
    near(values.tnr, 1 - roc.fpr[at], "tnr");
  }
  await close(page);
});

test("explorer: the address restores the state", async () => {
  const page = await open("exact.html");
  await set(page, "pi", 0.07);
  await set(page, "fn", 12.5);
  await page.uncheck("#ex-lock");
  await set(page, "t", 0.11);
  const before = await shown(page), hash = await page.evaluate(() => location.hash);
  await page.reload();
  assert(JSON.stringify(await shown(page)) === JSON.stringify(before), "a reload changes the numbers");
  const other = await open("exact.html", {}, hash);
  assert(JSON.stringify(await shown(other)) === JSON.stringify(before), "the address gives other numbers");
  assert((await other.inputValue("#ex-t")) === "0.11" && !(await other.isChecked("#ex-lock")), "the threshold is not restored");
  await other.evaluate(() => { location.hash = "#pi=0.2&fp=1&fn=1"; });
  await other.waitForFunction(() => document.getElementById("ex-pi").value === "0.2");
  assert(await other.isChecked("#ex-lock"), "an address without a threshold leaves it unlocked");
  await other.evaluate(() => { location.hash = "#pi=7&fp=-1&fn=nonsense"; });
  await other.waitForTimeout(50);
  assert(Number(await other.inputValue("#ex-pi")) < 1, "an address out of range is taken");
  await close(page);
  await close(other);
});

test("explorer: refused numbers, copying, starting again", async () => {
  const page = await open("exact.html");
  const start = await shown(page);
  await page.fill("#ex-pi", "2");
  assert((await page.getAttribute("#ex-pi", "aria-invalid")) === "true", "a prevalence of 2 is not marked as wrong");
  assert(JSON.stringify(await shown(page)) === JSON.stringify(start), "a prevalence of 2 changes the numbers");
  await set(page, "pi", 0.2);
  await page.click("#ex-copy");
  await page.waitForFunction(() => document.getElementById("ex-copied").textContent !== "");
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  const rows = Object.fromEntries(copied.trim().split("\n").map((line) => line.split("\t")));
  near(Number(rows.prevalence), 0.2, "copied prevalence");
  near(Number(rows.ppv), (await shown(page)).ppv, "copied PPV");
  await page.click("#ex-reset");
  assert(JSON.stringify(await shown(page)) === JSON.stringify(start), "starting again does not");
  await close(page);
});

test("explorer: points and curve move", async () => {
  const page = await open("exact.html");
  const state = () => page.evaluate(() => ["ex-roc-point", "ex-im-point"].map((id) => document.getElementById(id).getAttribute("cx") + "," +
    document.getElementById(id).getAttribute("cy")).concat(document.getElementById("ex-im-line").getAttribute("d")));
  const before = await state();
  await set(page, "pi", 0.4);
  const bent = await state();
  assert(bent[2] !== before[2], "the curve of informedness and markedness does not bend");
  await set(page, "fn", 3);
  const moved = await state();
  assert(moved[0] !== bent[0] && moved[1] !== bent[1], "the points do not move");
  assert(moved[2] === bent[2], "costs bend the curve");
  await close(page);
});

test("no script: charts and numbers are there", async () => {
  const scripted = await open("exact.html");
  const plain = await open("exact.html", { javaScriptEnabled: false });
  assert((await plain.locator("svg[role=img]").count()) >= 10, "charts are missing");
  assert(!(await plain.isVisible("#explorer-controls")), "controls that do nothing are shown");
  assert(await plain.isVisible("text=Without JavaScript"), "the page does not say that scripts are off");
  for (const id of ["tp", "fn-count", "fp-count", "tn", "ppv", "npv", "tpr", "used"]) {
    const [still, live] = await Promise.all([plain, scripted].map((page) => page.textContent("#ex-" + id)));
    assert(still === live || Math.abs(still - live) < 0.11, `${id}: ${still} without a script, ${live} with it`); /* ties round apart */
  }
  await close(scripted);
  await close(plain);
});

test("dark and print", async () => {
  const luminance = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).slice(0, 3).reduce((a, b) => a + Number(b), 0) / 3);
  const dark = await open("exact.html", { colorScheme: "dark" });
  assert((await luminance(dark)) < 60, "dark is not dark");
  await dark.emulateMedia({ media: "print", colorScheme: "dark" });
  assert((await luminance(dark)) > 240, "a print from dark is not light");
  assert(!(await dark.isVisible("#explorer-controls")), "controls are printed");
  const pdf = await dark.pdf({ path: path.join(folder, "report.pdf"), preferCSSPageSize: true });
  assert(pdf.length > 20000, "the print is empty");
  const inches = Math.max(...await dark.evaluate(() => [...document.querySelectorAll("svg")].map((s) => s.getBoundingClientRect().width / 96)));
  assert(inches < 8.3, "a chart is wider than A4");
  await close(dark);
});

test("keyboard alone", async () => {
  const page = await open("exact.html");
  const reached = new Set();
  let outlined = true;
  for (let i = 0; i < 60; i++) {
    await page.keyboard.press("Tab");
    const at = await page.evaluate(() => {
      const e = document.activeElement, style = getComputedStyle(e);
      return [e.id || e.tagName, e.tagName === "BODY" || style.outlineStyle !== "none"];
    });
    reached.add(at[0]);
    outlined = outlined && at[1];
  }
  for (const id of ["ex-pi", "ex-pi-range", "ex-fp", "ex-fn", "ex-lock", "ex-copy", "ex-reset", "SUMMARY"])
    assert(reached.has(id), `${id} is not reached by Tab`);
  assert(outlined, "an element with focus does not show it");
  await page.focus("details.numbers summary");
  await page.keyboard.press("Enter");
  assert(await page.isVisible("details.numbers table"), "Enter does not open the numbers");
  await page.focus("#ex-lock");
  await page.keyboard.press("Space");
  assert(!(await page.isDisabled("#ex-t")), "Space does not unlock the threshold");
  await close(page);
});

test("speed: interactive at once, a slider move redraws within its budget", async () => {
  const page = await open("thinned.html");
  const ready = await page.evaluate(() => performance.getEntriesByType("navigation")[0].domContentLoadedEventEnd);
  const times = await page.evaluate(async () => {
    const quartile = (list) => list.sort((a, b) => a - b)[list.length >> 2]; /* other work on the machine is not ours */
    const measure = async (move) => {
      const list = [];
      for (let i = 0; i < 40; i++) {
        await new Promise(requestAnimationFrame);
        const began = performance.now();
        move(i);
        document.body.getBoundingClientRect();
        list.push(performance.now() - began);
      }
      return quartile(list);
    };
    const slider = document.getElementById("ex-pi-range"), cell = document.getElementById("ex-copied");
    const empty = await measure((i) => { cell.textContent = "x".repeat(1 + (i & 1)); });
    const moved = await measure((i) => { slider.value = -3 + i / 40; slider.dispatchEvent(new Event("input")); });
    return { empty, moved };
  });
  console.log(`    interactive after ${ready.toFixed(0)} ms; redraw ${times.moved.toFixed(2)} ms, empty ${times.empty.toFixed(2)} ms, ratio ${(times.moved / times.empty).toFixed(1)}`);
  assert(ready < 1000, `interactive after ${ready} ms`);
  assert(times.moved < 50 && times.moved < 60 * Math.max(times.empty, 0.2), `a move takes ${times.moved} ms, an empty redraw ${times.empty} ms`);
  await close(page);
});

/* Text of charts stays inside its picture and off other text; nothing is wider than the screen. */
async function layout(page) {
  return page.evaluate(() => {
    const faults = [];
    const ids = [...document.querySelectorAll("[id]")].map((e) => e.id), twice = ids.filter((id, i) => ids.indexOf(id) < i);
    if (twice.length) faults.push("ids that are there twice: " + twice.join(", "));
    if (document.documentElement.scrollWidth > window.innerWidth) faults.push("wider than the screen: " + document.documentElement.scrollWidth);
    document.querySelectorAll(".panels svg").forEach((svg) => {
      const frame = svg.getBoundingClientRect(), texts = [...svg.querySelectorAll("text")].map((t) => ({ t, b: t.getBoundingClientRect() }));
      const name = (svg.querySelector("title") || {}).textContent;
      for (const { t, b } of texts)
        if (b.left < frame.left - 1 || b.right > frame.right + 1 || b.top < frame.top - 1 || b.bottom > frame.bottom + 1) faults.push(`${name}: cut: ${t.textContent}`);
      texts.forEach((a, i) => texts.slice(i + 1).forEach((c) => {
        const wide = Math.min(a.b.right, c.b.right) - Math.max(a.b.left, c.b.left), high = Math.min(a.b.bottom, c.b.bottom) - Math.max(a.b.top, c.b.top);
        if (wide > 1 && high > 3) faults.push(`${name}: overlap: ${a.t.textContent} / ${c.t.textContent}`);
      }));
    });
    return faults;
  });
}

async function accessible(page) {
  await page.evaluate(axe);
  const result = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  return result.violations.filter((v) => ["serious", "critical"].includes(v.impact)).map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.target.join(" ")).join(", ")}`);
}

function everyPage(reports) {
  for (const file of reports)
    test(`${file}: size, layout at 1280 and 390, accessibility`, async () => {
      const size = fs.statSync(path.join(work, file)).size;
      assert(size < 1.5e6, `${size} bytes`);
      for (const [width, colorScheme] of [[1280, "light"], [390, "light"], [1280, "dark"]]) {
        const page = await open(file, { viewport: { width, height: 900 }, colorScheme });
        const faults = await layout(page);
        assert(faults.length === 0, `${width}: ${faults.slice(0, 5).join("; ")}`);
        const violations = await accessible(page);
        assert(violations.length === 0, `${colorScheme}: ${violations.join("; ")}`);
        await page.screenshot({ path: path.join(shots, `${file.replace(/\W/g, "_")}_${width}_${colorScheme}.png`), fullPage: true });
        await close(page);
      }
    });
}

test("hostile labels and columns are text", async () => {
  const page = await open("hostile.html");
  assert((await page.evaluate(() => window.pwned)) === undefined, "a script of a label ran");
  assert((await page.locator("img").count()) === 0, "markup of a label became an element");
  const text = await page.textContent("main");
  assert(text.includes("</script>") && text.includes("\u{1F92F}") && text.includes('"quoted"'), "labels are not shown as they are");
  assert((await page.locator("[title]").count()) > 0, "a long name has no title");
  await close(page);
});

/* As if some text had become markup: what it brings is refused by the page's policy, and the page's own script runs. */
test("injected scripts and styles do nothing", async () => {
  const markup = `<script>window.pwned=1</script><script src="data:text/javascript,window.pwned=2"></script>
    <img src="data:," onerror="window.pwned=3"><a id="bait" href="javascript:window.pwned=4">x</a>
    <style>main{display:none}</style><p id="styled" style="position:fixed">x</p><base href="https://example.invalid/">
    <script type="module">window.pwned=5</script><iframe srcdoc="<script>parent.pwned=6</script>"></iframe>`;
  const page_text = fs.readFileSync(path.join(work, "exact.html"), "utf8");
  assert(!/unsafe-inline|unsafe-eval|unsafe-hashes/.test(page_text), "the policy allows what is inline");
  fs.writeFileSync(path.join(work, "injected.html"), page_text.replace("</main>", markup + "</main>"));
  const page = await open("injected.html");
  await page.evaluate(() => { document.getElementById("bait").click(); });
  await page.evaluate(() => { const s = document.createElement("script"); s.textContent = "window.pwned=7"; document.body.append(s); });
  await page.waitForTimeout(200);
  assert((await page.evaluate(() => window.pwned)) === undefined, "an injected script ran");
  assert(await page.isVisible("main"), "an injected style holds");
  assert((await page.evaluate(() => getComputedStyle(document.getElementById("styled")).position)) === "static", "an injected attribute holds");
  assert((await page.evaluate(() => document.baseURI)).startsWith("file:"), "an injected base holds");
  const refused = page.complaints.filter((text) => /Content Security Policy/.test(text));
  assert(refused.length >= 7, `the policy refused ${refused.length} things only: ${refused.join("; ")}`);
  assert(refused.length === page.complaints.length, page.complaints.filter((text) => !refused.includes(text)).join("; "));
  page.complaints.length = 0;
  const before = await shown(page);
  await set(page, "pi", 0.2);
  const after = await shown(page);
  assert(after.tp !== before.tp && Number.isFinite(after.tp), "the explorer does not work");
  await close(page);
});

test("what cannot be shown is said", async () => {
  for (const [file, sentence] of [["one_class.html", "only one label"], ["one_row.html", "only one label"], ["equal.html", "All probabilities are equal"], ["classes.html", "more labels"]]) {
    const page = await open(file);
    assert((await page.textContent("main")).includes(sentence), `${file} does not say: ${sentence}`);
    await close(page);
  }
});

test("figures: SVG files are whole and have the page's curves", async () => {
  const page = await open("exact.html");
  for (const name of ["calibration", "expected", "thresholds", "histogram", "decision", "coefficients"]) {
    const svg = fs.readFileSync(path.join(work, "figures", name + ".svg"), "utf8");
    assert(!/<text|href="[^#]|url\((?!#)/.test(svg), `${name}.svg is not self-contained`);
    const inPage = await page.$$eval(`#fig-${name} path[class^=l-]`, (paths) => paths.map((p) => p.getAttribute("d")));
    for (const d of inPage) assert(svg.includes(d), `${name}.svg lacks a line of the page`);
    const csv = fs.readFileSync(path.join(work, "figures", name + ".csv"), "utf8");
    assert(csv.startsWith("panel,series,x,y,lo,hi\n") && csv.split("\n").length > 5, `${name}.csv is empty`);
  }
  await page.goto("file://" + path.join(work, "figures", "thresholds.svg"));
  assert((await page.evaluate(() => document.documentElement.tagName)) === "svg", "no picture");
  await close(page);
});

/* ---- all ---------------------------------------------------------------------------------------------------------- */

async function main() {
  fs.rmSync(work, { recursive: true, force: true });
  fs.mkdirSync(work, { recursive: true });
  fs.mkdirSync(shots, { recursive: true });
  const runner = (program) => (...args) => {
    const done = spawnSync(program, args, { cwd: work, encoding: "utf8", maxBuffer: 1 << 28 });
    assert(done.status === 0 || done.status === 3, `${program} ${args.join(" ")}: ${done.stderr}`);
    return done.stdout;
  };
  everyPage(makeReports(runner(prevail), runner(prevail + "-lab"), work)); // prevail-lab stands beside it
  browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  let passed = 0, failed = 0;
  for (const [name, run] of tests) {
    try {
      await run();
      passed++;
      console.log(`ok      ${name}`);
    } catch (error) {
      failed++;
      console.log(`FAILED  ${name}\n        ${error.message.split("\n").slice(0, 6).join("\n        ")}`);
    }
  }
  if (process.env.PREVAIL_UPDATE) {
    const page = await open("demo.html", { viewport: { width: 1200, height: 900 } });
    await page.locator("#explorer").screenshot({ path: path.join(repository, "docs", "report.png") });
    await close(page);
  }
  await browser.close();
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed ? 1 : 0);
}

main().catch((error) => { console.log(`FAILED  ${error.stack}`); process.exit(1); });
