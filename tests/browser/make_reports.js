/* The reports that the browser tests open, made with the command. */
"use strict";
const fs = require("fs");
const path = require("path");

const quoted = (text) => '"' + text.replace(/"/g, '""') + '"';

function write(folder, name, rows) {
  fs.writeFileSync(path.join(folder, name), rows.map((row) => row.join(",")).join("\n") + "\n");
}

/* Numbers that look random and are the same in every run. */
function noise(i) { const x = Math.sin(i * 12.9898) * 43758.5453; return x - Math.floor(x); }

const hostileLabels = ['</script><script>window.pwned=2</script>', '"><img src=x onerror="window.pwned=3">'];

function hostile(folder) {
  const names = ['<script>window.pwned=1</script>', '"quoted" & <b>bold</b>', "\u{1F92F} emoji 'x'", "long ".repeat(2000).trim()].map(quoted);
  const rows = [[...names, quoted("y</title><i>")]];
  for (let i = 0; i < 400; i++) {
    const positive = noise(i) < 0.4;
    rows.push([...[1, 2, 3, 4].map((k) => (noise(i * 7 + k) + (positive ? 0.3 : 0)).toFixed(4)), quoted(hostileLabels[positive ? 1 : 0])]);
  }
  write(folder, "hostile.csv", rows);
}

function edges(folder) {
  write(folder, "one_class.csv", [["p__a", "p__b", "y"], ...Array.from({ length: 40 }, (_, i) => [1 - noise(i), noise(i), "a"])]);
  write(folder, "one_row.csv", [["p__a", "p__b", "y"], [0.3, 0.7, "b"]]);
  write(folder, "equal.csv", [["p__a", "p__b", "y"], ...Array.from({ length: 40 }, (_, i) => [0.7, 0.3, i % 3 ? "a" : "b"])]);
  const k = 300;
  write(folder, "classes.csv", [["x", "z", "y"], ...Array.from({ length: 1500 }, (_, i) => [(noise(i) + (i % k) / k).toFixed(4), noise(3 * i).toFixed(4), "c" + String(i % k).padStart(3, "0")])]);
}

/* Returns the names of the pages. run(...arguments) runs the command in the folder, lab(...) prevail-lab. */
function makeReports(run, lab, folder) {
  run("simulate", "nodules", "--cases", "400", "--controls", "400", "--prevalence", "0.01", "--seed", "1", "-o", "train.csv");
  run("simulate", "nodules", "--rows", "3000", "--prevalence", "0.05", "--seed", "2", "-o", "test.csv");
  run("simulate", "nodules", "--rows", "20000", "--prevalence", "0.05", "--seed", "3", "-o", "many.csv");
  run("fit", "train.csv", "--outcome", "malignant", "--prevalence", "0.01", "-o", "exact.model");
  run("fit", "train.csv", "--outcome", "malignant", "--prevalence", "0.01", "--infer", "laplace", "-o", "laplace.model");
  run("eval", "exact.model", "test.csv", "--stated-for", "population", "--training", "train.csv", "--report", "exact.html", "--figures", "figures");
  run("eval", "exact.model", "many.csv", "--bootstrap", "0", "--report", "thinned.html");
  run("eval", "laplace.model", "train.csv", "--stated-for", "population", "--report", "laplace.html");
  hostile(folder);
  run("fit", "hostile.csv", "--outcome", "y</title><i>", "--positive", hostileLabels[1], "--prevalence", "0.1", "-o", "hostile.model");
  run("eval", "hostile.model", "hostile.csv", "--report", "hostile.html");
  edges(folder);
  for (const name of ["one_class", "one_row", "equal"])
    run("eval", "--probs", name + ".csv", "--outcome", "y", "--report", name + ".html");
  run("fit", "classes.csv", "--outcome", "y", "--loss", "plain", "--max-iter", "5", "-o", "classes.model");
  run("eval", "classes.model", "classes.csv", "--population", "design", "--bootstrap", "0", "--report", "classes.html");
  run("cv", "train.csv", "--outcome", "malignant", "--prevalence", "0.01", "--report", "cv.html");
  run("sweep", "train.csv", "--outcome", "malignant", "--prevalence", "0.1,0.01", "--mixture", "--report", "sweep.html");
  lab("contingency", "--prevalence-n", "1,10,100", "-o", "contingency");
  lab("calibration", "--replicates", "2", "--prevalences", "0.1,0.01", "--population-rows", "5000", "-o", "calibration");
  run("demo", "--report", "demo.html");
  return ["demo.html", "cv.html", "sweep.html", "contingency/report.html", "calibration/report.html", "exact.html", "thinned.html", "laplace.html", "hostile.html", "one_class.html", "one_row.html", "equal.html", "classes.html"];
}

module.exports = { makeReports };
