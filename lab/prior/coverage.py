#!/usr/bin/python3
"""Coverage of 90 % intervals where the rows chose the prior's scale: case-control samples of 30 + 30 rows.

usage: coverage.py PREVAIL [SAMPLES [OPTION...]]     SAMPLES (100) of each kind; OPTIONs of fit, such as --prior normal:2.5
"""
import csv
import json
import os
import subprocess
import sys
import tempfile

KINDS = {"nodules": ["nodules"], "nodules, slopes a third": ["nodules", "--strength", "0.3"], "nodules, slopes 1.6 times": ["nodules", "--strength", "1.6"],
         "gaussian, 20 columns": ["gaussian", "--dimensions", "20", "--separation", "1.5"]}
command, samples, options = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100, sys.argv[3:]


def run(*arguments):
    return subprocess.run([command, *arguments, "--quiet"], capture_output=True, text=True, check=False).stdout


print("| population | slopes | least of a slope | intercept | slopes, if the linear model is right | median prior |\n|---|---|---|---|---|---|")
with tempfile.TemporaryDirectory() as folder:
    table, truth = os.path.join(folder, "a.csv"), os.path.join(folder, "truth.csv")
    for kind, simulate in KINDS.items():
        held, right, priors = {}, {}, []
        for seed in range(samples):
            run("simulate", *simulate, "--cases", "30", "--controls", "30", "--prevalence", "0.02", "--seed", str(1000 + seed), "--truth", truth, "-o", table)
            with open(truth, encoding="utf-8") as file:
                true = {row["name"]: float(row["value"]) for row in csv.DictReader(file)}
            with open(table, encoding="utf-8") as file:
                outcome = next(name for name in next(csv.reader(file)) if name not in true)
            made = json.loads(run("fit", table, "--outcome", outcome, "--prevalence", "0.02", "--interval", "0.9", "--json", *options))
            priors.append(made["prior"])
            for name, own in made["coefficients"].items():
                held.setdefault(name, []).append(own["lo"] <= true[name] <= own["hi"])
                linear = own.get("if_linear", own)
                right.setdefault(name, []).append(linear["lo"] <= true[name] <= linear["hi"])
        share = {name: sum(each) / samples for name, each in held.items()}
        intercept = share.pop("(Intercept)")
        linear = sum(sum(right[name]) / samples for name in share) / len(share)
        print(f"| {kind} | {sum(share.values()) / len(share):.3f} | {min(share.values()):.2f} | {intercept:.2f} | {linear:.3f} | {sorted(priors)[samples // 2]} |", flush=True)
