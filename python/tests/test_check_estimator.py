"""scikit-learn's own checks, all of them."""

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

import prevail


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([prevail.PrevalenceClassifier(), prevail.PrevalenceAdjusted(LogisticRegression(), "design")])
def test_check(estimator, check):
    check(estimator)
