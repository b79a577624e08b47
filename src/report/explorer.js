/* The population explorer. The same arithmetic as src/report/explorer.c, on the table of rates that the page holds. */
(function () {
  "use strict";
  var data = JSON.parse(document.getElementById("explorer-data").textContent);
  var PEOPLE = 100000;
  var $ = function (id) { return document.getElementById("ex-" + id); };
  var logit = function (p) { return Math.log(p) - Math.log1p(-p); };
  var sigmoid = function (x) { return x >= 0 ? 1 / (1 + Math.exp(-x)) : Math.exp(x) / (1 + Math.exp(x)); };
  var start = { pi: data.prevalence, fp: data.cost_fp, fn: data.cost_fn, t: null };
  var limits = { pi: [1e-6, 1 - 1e-6], fp: [1e-6, 1e9], fn: [1e-6, 1e9], t: [1e-6, 1 - 1e-6] };
  var state = copy(start); /* t: null while it follows the costs */

  function copy(s) { return { pi: s.pi, fp: s.fp, fn: s.fn, t: s.t }; }

  /* The last entry of at least these log odds; -1: none. Log odds fall. */
  function entryAt(least) {
    var low = 0, high = data.log_odds.length;
    least -= 1e-12 * Math.max(1, Math.abs(least)); /* as pv__point_at */
    while (low < high) {
      var middle = (low + high) >> 1;
      if (data.log_odds[middle] >= least) low = middle + 1; else high = middle;
    }
    return low - 1;
  }

  function rates(entry) {
    return entry < 0 ? { tpr: 0, fpr: 0 } : { tpr: data.tp[entry] / data.all_p, fpr: data.fp[entry] / data.all_n };
  }

  function ratio(part, whole) { return whole > 0 ? part / whole : NaN; }

  function marks(pi, r) {
    var tp = pi * r.tpr, fp = (1 - pi) * r.fpr, fn = pi * (1 - r.tpr), tn = (1 - pi) * (1 - r.fpr);
    return { ppv: ratio(tp, tp + fp), npv: ratio(tn, tn + fn) };
  }

  function threshold() { return state.t === null ? state.fp / (state.fp + state.fn) : state.t; }

  function compute() {
    var t = threshold(), shift = data.offset === null ? 0 : data.offset - logit(state.pi);
    var entry = entryAt(logit(t) + shift), r = rates(entry), pi = state.pi, m = marks(pi, r);
    var v = { t: t, tpr: r.tpr, fpr: r.fpr, tnr: 1 - r.fpr, ppv: m.ppv, npv: m.npv };
    v.used = data.exact || entry < 0 ? t : sigmoid(data.log_odds[entry] - shift);
    v.tp = PEOPLE * pi * r.tpr;
    v["fn-count"] = PEOPLE * pi * (1 - r.tpr);
    v["fp-count"] = PEOPLE * (1 - pi) * r.fpr;
    v.tn = PEOPLE * (1 - pi) * (1 - r.fpr);
    v.p = PEOPLE * pi;
    v.n = PEOPLE * (1 - pi);
    v.called = v.tp + v["fp-count"];
    v.spared = v["fn-count"] + v.tn;
    v.informedness = r.tpr - r.fpr;
    v.markedness = m.ppv + m.npv - 1;
    v.cost = state.fp * v["fp-count"] + state.fn * v["fn-count"];
    v.benefit = v.tp - v["fp-count"] * state.fp / state.fn;
    return v;
  }

  /* ---- what is shown -------------------------------------------------------------------------------------------- */

  var counts = ["tp", "fn-count", "p", "fp-count", "tn", "n", "called", "spared"];
  var values = ["ppv", "npv", "tpr", "tnr", "informedness", "markedness", "cost", "benefit", "used"];

  function digits(x, n) {
    if (isNaN(x)) return "\u2013";
    return Number(x.toPrecision(n)).toLocaleString("en-GB", { maximumSignificantDigits: n, useGrouping: Math.abs(x) >= 1e3 }).replace("-", "\u2212");
  }

  function people(x) {
    return isNaN(x) ? "\u2013" : Math.round(x).toLocaleString("en-GB");
  }

  function show(id, x, text) {
    var cell = $(id);
    cell.textContent = text;
    cell.dataset.value = isNaN(x) ? "" : String(x);
  }

  function scaleOf(text) {
    var s = text.split(" ").map(Number);
    return function (x) { return s[2] + (s[3] - s[2]) * (x - s[0]) / (s[1] - s[0]); };
  }

  var roc = document.getElementById("ex-roc"), im = document.getElementById("ex-im");
  var rocX = scaleOf(roc.dataset.x), rocY = scaleOf(roc.dataset.y), imX = scaleOf(im.dataset.x), imY = scaleOf(im.dataset.y);
  var drawn = [], step = Math.max(1, data.log_odds.length / 700);
  for (var i = 0; i < data.log_odds.length; i += step) drawn.push(rates(Math.floor(i)));
  drawn.push(rates(data.log_odds.length - 1));

  function place(point, x, y) {
    var visible = isFinite(x) && isFinite(y);
    point.setAttribute("visibility", visible ? "visible" : "hidden");
    if (visible) { point.setAttribute("cx", x.toFixed(1)); point.setAttribute("cy", y.toFixed(1)); }
  }

  function bend(pi) {
    var path = "", pen = "M";
    for (var i = 0; i < drawn.length; i++) {
      var m = marks(pi, drawn[i]), y = imY(m.ppv + m.npv - 1);
      if (isNaN(y)) { pen = "M"; continue; }
      path += pen + imX(drawn[i].tpr - drawn[i].fpr).toFixed(1) + " " + y.toFixed(1);
      pen = "L";
    }
    $("im-line").setAttribute("d", path);
  }

  function sentence(v) {
    var start = "At a prevalence of " + digits(state.pi, 4) + ", with a false negative that costs " + digits(state.fn / state.fp, 4) +
      " times a false positive, ";
    if (!(v.called > 0))
      return start + "no one is called positive: all " + people(v.p) + " of 100,000 people who have it are missed.";
    return start + people(v.called) + " of 100,000 people are called positive and " + (100 * v.ppv).toFixed(1) +
      " % of these have it; of " + people(v.p) + " who have it " + people(v["fn-count"]) + " are missed.";
  }

  function draw() {
    var v = compute();
    counts.forEach(function (id) { show(id, v[id], people(v[id])); });
    values.forEach(function (id) { show(id, v[id], Math.abs(v[id]) >= 100 ? people(v[id]) : digits(v[id], 4)); });
    $("sentence").textContent = sentence(v);
    place($("roc-point"), rocX(v.fpr), rocY(v.tpr));
    place($("im-point"), imX(v.informedness), imY(v.markedness));
    bend(state.pi);
  }

  /* ---- controls -------------------------------------------------------------------------------------------------- */

  var keys = ["pi", "fp", "fn", "t"];
  var toSlider = { pi: Math.log10, fp: Math.log10, fn: Math.log10, t: logit };
  var fromSlider = { pi: function (s) { return Math.pow(10, s); }, t: sigmoid };
  fromSlider.fp = fromSlider.fn = fromSlider.pi;

  function setControls(except) {
    var now = { pi: state.pi, fp: state.fp, fn: state.fn, t: threshold() };
    keys.forEach(function (key) {
      var slider = $(key + "-range"), field = $(key);
      if (slider !== except) slider.value = toSlider[key](now[key]);
      slider.setAttribute("aria-valuetext", digits(now[key], 4));
      if (field !== except) field.value = Number(now[key].toPrecision(key === "t" && state.t === null ? 4 : 12));
      field.removeAttribute("aria-invalid");
    });
    var locked = state.t === null;
    $("lock").checked = locked;
    $("t").disabled = $("t-range").disabled = locked;
  }

  function address() {
    var parts = ["pi=" + state.pi, "fp=" + state.fp, "fn=" + state.fn];
    if (state.t !== null) parts.push("t=" + state.t);
    return "#" + parts.join("&");
  }

  function changed(except) {
    setControls(except);
    draw();
    history.replaceState(null, "", address());
  }

  function accept(key, x) {
    if (!(x >= limits[key][0] && x <= limits[key][1])) return false;
    state[key] = x;
    return true;
  }

  function readAddress() {
    var parts = location.hash.slice(1).split("&");
    if (!/(^|&)(pi|fp|fn|t)=/.test(parts.join("&"))) return false;
    state = copy(start);
    parts.forEach(function (part) {
      var at = part.indexOf("="), key = part.slice(0, at);
      if (keys.indexOf(key) >= 0) accept(key, Number(part.slice(at + 1)));
    });
    return true;
  }

  keys.forEach(function (key) {
    $(key + "-range").addEventListener("input", function () {
      /* Three digits are as fine as the slider. The threshold needs more near 1. */
      var x = fromSlider[key](Number(this.value));
      if (accept(key, key === "t" ? x : Number(x.toPrecision(3)))) changed(this);
    });
    $(key).addEventListener("input", function () {
      if (this.value !== "" && accept(key, Number(this.value))) changed(this);
      else this.setAttribute("aria-invalid", "true");
    });
    $(key).addEventListener("change", function () { changed(null); });
  });

  $("lock").addEventListener("change", function () {
    state.t = this.checked ? null : threshold();
    changed(null);
  });
  $("reset").addEventListener("click", function () { state = copy(start); changed(null); });
  document.getElementById("explorer-controls").addEventListener("submit", function (event) { event.preventDefault(); });
  window.addEventListener("hashchange", function () { if (readAddress()) { setControls(null); draw(); } });

  function table() {
    var v = compute(), rows = [["prevalence", state.pi], ["cost_fp", state.fp], ["cost_fn", state.fn], ["threshold", v.t]];
    values.concat(counts).forEach(function (id) {
      var name = { used: "threshold_in_use", benefit: "net_benefit_per_100000", cost: "cost_per_100000", "fp-count": "fp", "fn-count": "fn", p: "positives", n: "negatives", spared: "not_called" }[id] || id;
      rows.push([name, isNaN(v[id]) ? "NA" : v[id]]);
    });
    return rows.map(function (row) { return row.join("\t"); }).join("\n") + "\n";
  }

  function copied(done) { $("copied").textContent = done ? "Copied: a table of two columns." : "The browser refused to copy."; }

  function copyOldWay(text) {
    var area = document.createElement("textarea");
    area.value = text;
    document.body.appendChild(area);
    area.select();
    var done = document.execCommand("copy");
    area.remove();
    $("copy").focus();
    copied(done);
  }

  $("copy").addEventListener("click", function () {
    var text = table();
    if (!navigator.clipboard) return copyOldWay(text);
    navigator.clipboard.writeText(text).then(function () { copied(true); }, function () { copyOldWay(text); });
  });

  document.getElementById("explorer-controls").hidden = false;
  $("still").hidden = true;
  readAddress();
  setControls(null);
  draw();
})();
