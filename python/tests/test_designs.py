"""Designs whose population is given as a table: the data frames that pandas makes of a cohort."""

import numpy as np
import pytest

import prevail

pandas = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def cohort():
    """Everyone's site and label, and the rows in which x was measured: all cases, and as many controls of each site."""
    rng = np.random.default_rng(4)
    people = pandas.DataFrame({"site": rng.integers(1, 3, 6000), "x": rng.normal(size=6000)})
    people["ill"] = (rng.random(6000) < 1 / (1 + np.exp(4 - people.x - 0.5 * people.site))).astype(int)
    taken = np.zeros(6000, bool)
    for site in (1, 2):
        here = np.flatnonzero(people.site == site)
        cases = here[people.ill.to_numpy()[here] == 1]
        taken[cases] = taken[rng.choice(here[people.ill.to_numpy()[here] == 0], len(cases), replace=False)] = True
    return people, people[taken]


def fit(rows, y, **options):
    return prevail.PrevalenceClassifier(strata="site", **options).fit(rows[["site", "x"]], y)


def test_counts_of_a_cohort(cohort):
    """As groupby counts them, by whatever name y has, in any type that names the same labels; a row for each person as well."""
    people, rows = cohort
    counts = people.groupby(["site", "ill"]).size()
    wanted = fit(rows, rows.ill, phase_one=counts).coef_
    assert wanted[0, 0] == pytest.approx(0.5, abs=0.35) and wanted[0, 1] == pytest.approx(1, abs=0.25)
    frame = counts.rename("count").reset_index()
    for given, y in (
        (frame, rows.ill),
        (frame.rename(columns={"ill": "y"}), rows.ill.to_numpy()),
        (people[["site", "ill"]], rows.ill),
        (frame.astype({"ill": float, "site": float}), rows.ill),
        (frame.assign(ill=frame.ill == 1), rows.ill == 1),
        (frame.assign(ill=frame.ill.map({0: "control", 1: "case"})), rows.ill.map({0: "control", 1: "case"})),
    ):
        sign = -1 if y.dtype == object else 1  # coef_ is of the last label
        np.testing.assert_allclose(sign * fit(rows, y, phase_one=given).coef_, wanted, rtol=1e-12)
    assert list(counts.index.names) == ["site", "ill"] and list(frame.columns) == ["site", "ill", "count"]  # left as they were


def test_prevalences_of_strata(cohort, tmp_path):
    people, rows = cohort
    by = people.groupby("site").ill.agg(["mean", "size"]).rename(columns={"mean": "prevalence", "size": "share"}).reset_index()
    by["share"] /= by["share"].sum()
    by.to_csv(tmp_path / "by.csv", index=False)
    np.testing.assert_allclose(fit(rows, rows.ill, prevalence_by=by).coef_, fit(rows, rows.ill, prevalence_by=tmp_path / "by.csv").coef_, rtol=1e-12)


def test_messages_name_the_argument(cohort):
    people, rows = cohort
    counts = people.groupby(["site", "ill"]).size().rename("count").reset_index()
    with pytest.raises(prevail.InputError, match="^phase_one: has no column 'y'"):
        fit(rows, rows.ill.to_numpy(), phase_one=counts)
    with pytest.raises(prevail.InputError, match="^phase_one: .*counts 0 people of stratum '2'"):
        fit(rows, rows.ill, phase_one=counts[counts.site == 1])
    with pytest.raises(prevail.InputError, match="^prevalence_by:3: prevalence: 1.2 is outside"):
        fit(rows, rows.ill, prevalence_by=pandas.DataFrame({"site": [1, 2], "prevalence": [0.1, 1.2], "share": [0.5, 0.5]}))
    for given in ({1: 0.1, 2: 0.2}, [0.1, 0.2]):
        with pytest.raises(prevail.InputError, match="`prevalence_by`: give a data frame, or the path"):
            fit(rows, rows.ill, prevalence_by=given)
