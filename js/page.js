// "Score your own rows" of a report (src/report/page_engine.c): reads a file that the reader chose, predicts, evaluates, shows.
// scripts/js puts wasi.js, prevail.js and unpack.js before it.
const SHOWN = 20; // rows

const element = (name, text) => Object.assign(document.createElement(name), text === undefined ? {} : { textContent: text });
const shown = (value) => (typeof value !== "number" ? String(value ?? "") : Number.isInteger(value) ? String(value) : value.toPrecision(4));

function table(caption, head, rows) {
  const whole = element("table");
  whole.append(element("caption", caption));
  const top = whole.createTHead().insertRow();
  for (const name of head) top.append(Object.assign(element("th", name), { scope: "col" }));
  const body = whole.createTBody();
  for (const cells of rows) {
    const row = body.insertRow();
    for (const cell of cells) row.insertCell().textContent = shown(cell);
  }
  const frame = Object.assign(element("div"), { className: "scroll", tabIndex: 0 });
  frame.append(whole);
  return frame;
}

function download(csv) {
  const line = element("p"), link = element("a", "Download the scores");
  link.href = URL.createObjectURL(new Blob([csv], { type: "text/csv" }));
  link.download = "scores.csv";
  line.append(link);
  return line;
}

async function begin() {
  const at = (id) => document.getElementById(`score-${id}`);
  const say = (text) => (at("status").textContent = text);
  const engine = await load(await unpacked(ENGINE));
  const model = unbase64(at("model").textContent);
  const { outcome } = await engine.summary(model);

  async function score(file) {
    at("result").replaceChildren();
    say(`${file.name} is being scored.`);
    const data = new Uint8Array(await file.arrayBuffer());
    const prevalence = at("prevalence").value.trim();
    const settings = prevalence ? { population: prevalence === "unknown" ? prevalence : `known:${prevalence}` } : {};
    const { csv, columns, messages } = await engine.predict(model, data, settings);
    const names = Object.keys(columns), count = columns[names[0]]?.length ?? 0;
    const rows = Array.from({ length: Math.min(count, SHOWN) }, (_, i) => names.map((name) => columns[name][i]));
    at("result").append(table(`Scores${count > SHOWN ? `, the first ${SHOWN} of ${count} rows` : ""}`, names, rows), download(csv));
    if (messages) at("result").append(element("p", messages));
    try {
      const { metrics } = await engine.evaluate(model, data, settings);
      const known = Object.entries(metrics).filter(([, one]) => typeof one?.value === "number");
      at("result").append(table(`Evaluation, by the column ${outcome}`, ["metric", "value", "lo", "hi"],
        known.map(([name, one]) => [name, one.value, one.lo, one.hi])));
      say(`${count} rows of ${file.name} were scored and evaluated.`);
    } catch (problem) {
      if (!(problem instanceof PrevailError)) throw problem;
      say(`${count} rows of ${file.name} were scored. They were not evaluated: ${problem.message}`);
    }
  }

  const begun = (file) => file && score(file).catch((problem) => say(problem.message));
  at("file").addEventListener("change", () => begun(at("file").files[0]));
  at("prevalence").addEventListener("change", () => begun(at("file").files[0]));
  at("controls").addEventListener("dragover", (event) => event.preventDefault());
  at("controls").addEventListener("drop", (event) => {
    event.preventDefault();
    begun(event.dataTransfer.files[0]);
  });
  at("controls").hidden = false;
  say("Choose a file, or drop it here.");
}

begin().catch((problem) => {
  document.getElementById("score-status").textContent = `The engine does not run here: ${problem.message}`;
});
