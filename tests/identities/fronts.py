"""The command and the Python package: the same fit, predictions to 1e-12."""
import warnings

import numpy as np

import command as commands
import tables
from run import answer

LEFT_OUT = {"matched", "phase one"}  # predictions of sets are not compared; a cohort is a file of its own
WORDS = {"--prevalence-by": "prevalence_by", "--weights": None, "--outcome": None, "--population-sample": None}


def parameters(case):
    given = {}
    for name, value in case.options.items():
        if name in WORDS:
            continue
        word = name[2:].replace("-", "_")
        if word in ("threads", "draws", "max_iter", "warmup", "steps", "components"):
            value = int(value)
        elif word in ("tolerance", "subcohort"):
            value = float(value)
        elif word == "prevalence":
            shares = [float(v) for v in value.split(",")]
            value = shares[0] if len(shares) == 1 else shares
        elif word in ("exclude",):
            value = value.split(",")
        given[word] = value
    return given


def frame(table):
    import pandas

    return pandas.DataFrame({name: np.array([np.nan if v is None else v for v in column]) for name, column in table.columns.items()})


def in_python(prevail, case):
    table = frame(case.table)
    given = parameters(case)
    if "by.csv" in case.files:
        by = frame(case.files["by.csv"])
        by["prevalence"] = by["prevalence"].astype(float)
        given["prevalence_by"] = by
    weights = table.pop("w") if "w" in table else None
    sample = {"population_sample": frame(case.files["sample.csv"])} if "sample.csv" in case.files else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = table.drop(columns="y")
        model = prevail.PrevalenceClassifier(**given).fit(rows, table["y"], weights, **sample)
        people = frame(case.people)
        for name in rows.columns.difference(people.columns):  # scikit-learn's rule: the columns are those of the fit
            people[name] = rows[name].iloc[0]
        population = {"population": "design"} if "design" in case.predicting else {}
        risks = model.predict_proba(people[rows.columns], **population)
    return {("predicted", f"p__{label}", row): float(risks[row, k]) for k, label in enumerate(model.classes_) for row in range(len(risks))}


def check(battery, seed):
    try:
        import pandas  # noqa: F401
        import prevail
    except (ImportError, OSError) as missing:
        battery.skipped[f"the Python package: {missing}"] = 1
        return
    for combination in tables.combinations():
        design, loss, infer, model = combination
        title = ", ".join(combination)
        if design in LEFT_OUT or infer in ("hmc", "vi") or battery.options.only and battery.options.only not in "from Python of " + title:
            continue
        case = tables.make(np.random.default_rng([seed, 9, *title.encode()]), *combination)
        if case.people is None:
            continue
        base = answer(battery.command, case, battery.folder, "base")
        try:
            other = commands.Answer(base.code if base.accepted else 0, in_python(prevail, case))
        except prevail.PrevailError as rejected:
            other = commands.Answer(2 if base.code == 0 else base.code, {}, str(rejected))
        base.values = {path: value for path, value in base.values.items() if path[0] == "predicted" and path[1].startswith("p__")}
        battery.take(title, seed, "from Python", commands.compare(base, other, 1e-12), base)
