"""The losses as PyTorch modules, for any device and any network that ends in logits.

All are minibatch estimates of the loss of the whole training set, divided by its rows, and take logits and labels as
`torch.nn.CrossEntropyLoss` and `BCEWithLogitsLoss` do: logits of shape (n, n_classes, ...), or (n,) and (n, 1, ...) for two
classes; labels of any type of numbers. Images of labels (segmentation) are rows of pixels. The network's outputs,
`softmax(logits)`, are then probabilities in the population with the stated prevalence. Start its output bias there
(`start_at_prevalence`), and draw batches with equal numbers of each class (`BalancedBatchSampler`). If the sampling
rates of rows, patches or negatives are known, use `log_rate` instead of prevalence and counts.

=========================  ==========================================================================================
`SelectionLoss`            the likelihood of the labels as sampled (logit adjustment). The default choice
`InformationGainLoss`      the paper's loss: each likelihood over the model's marginal, tracked by an auxiliary
network
`ImportanceWeightedLoss`   class weights
=========================  ==========================================================================================

Examples
--------
>>> import torch
>>> from prevail.torch import BalancedBatchSampler, SelectionLoss, start_at_prevalence
>>> _ = torch.manual_seed(0)
>>> y = torch.arange(400) % 2                                   # as many cases as controls
>>> X = torch.randn(400, 5) + y[:, None]
>>> net = torch.nn.Linear(5, 2)
>>> start_at_prevalence(net, [0.99, 0.01])
>>> loss = SelectionLoss([0.99, 0.01], counts=torch.bincount(y))
>>> optimiser = torch.optim.Adam(net.parameters(), lr=0.02)
>>> for epoch in range(20):
...     for batch in BalancedBatchSampler(y, 40, seed=epoch):
...         optimiser.zero_grad()
...         loss(net(X[batch]), y[batch]).backward()
...         optimiser.step()
>>> p = net(X).softmax(1)[:, 1]
>>> bool(p[y == 0].mean() < 0.02 < p[y == 1].mean())
True
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import nn
from torch.nn import functional

Numbers = Any  # a tensor, or a sequence of numbers

__all__ = [
    "BalancedBatchSampler",
    "ImportanceWeightedLoss",
    "InformationGainLoss",
    "SelectionLoss",
    "start_at_prevalence",
]


def _by_class(values):
    """Numbers [classes] of a sequence, or by label of a mapping or a Series of pandas: `y.value_counts()` has them in another order."""
    if hasattr(values, "keys") and hasattr(values, "items"):
        given = dict(values.items())
        if set(given) != set(range(len(given))):
            raise ValueError(f"labels are the numbers of classes, 0 to {len(given) - 1}, not {', '.join(map(str, given))}")
        values = [float(given[label]) for label in range(len(given))]
    return torch.as_tensor(values, dtype=torch.float64).reshape(-1)


def _rows(logits, target):
    """Logits [rows][classes] and the labels [rows] of any shape that `torch.nn.CrossEntropyLoss` takes, pixels as rows."""
    if logits.dim() > 1 and logits.shape == target.shape and logits.shape[1] != 1:
        raise ValueError(
            f"logits and labels have the same shape, {tuple(logits.shape)}: give the numbers of the labels, (n, ...), for logits "
            "(n, n_classes, ...), or log odds (n, 1, ...)"
        )
    if logits.dim() == 1:
        logits = logits[:, None]
    shape = (logits.shape[0], *logits.shape[2:])
    if target.shape != shape and target.shape != (shape[0], 1, *shape[1:]):
        raise ValueError(f"logits of shape {tuple(logits.shape)} need labels of shape {shape}, not {tuple(target.shape)}")
    logits = logits.movedim(1, -1).reshape(-1, logits.shape[1])
    if logits.dtype in (torch.float16, torch.bfloat16):  # autocast's: the sum of 65,520 rows is infinite in half precision
        logits = logits.float()
    if logits.shape[1] == 1:  # the log odds of the second of two classes
        logits = torch.cat([torch.zeros_like(logits), logits], dim=1)
    labels = target.reshape(-1)
    if labels.is_floating_point() and not (labels == labels.round()).all():
        raise ValueError("labels are numbers of classes, 0, 1, ..., also as floats; probabilities are not supported")
    return logits, labels.long(), shape


def _log_likelihood(logits):
    return functional.log_softmax(logits, dim=1)


def _flat_rates(log_rate, logits, shape):
    """Logarithms of sampling rates: one per class, or one per row and class. For two classes with a single output,
    those per row and class have the shape [rows][2]."""
    log_rate = torch.as_tensor(log_rate).to(logits)
    if log_rate.shape == logits.shape[1:]:
        return log_rate
    if log_rate.shape == (shape[0], logits.shape[1], *shape[1:]):
        return log_rate.movedim(1, -1).reshape(-1, logits.shape[1])
    raise ValueError(
        f"log_rate has one number for each class, ({logits.shape[1]},), or for each row and class, "
        f"{(shape[0], logits.shape[1], *shape[1:])}, not {tuple(log_rate.shape)}"
    )


class _BatchLoss(nn.Module):
    """What the losses share: the population, and the weights that make a batch stand for the training set."""

    reductions = ("mean", "sum", "none")

    prevalence: torch.Tensor | None
    counts: torch.Tensor | None
    expected: torch.Tensor | None
    log_rate: torch.Tensor | None

    def __init__(
        self,
        prevalence: Numbers | float | None = None,
        counts: Numbers | None = None,
        expected: Numbers | None = None,
        *,
        log_rate: Numbers | None = None,
        reduction: str = "mean",
        ignore_index: int = -100,
    ) -> None:
        super().__init__()
        if reduction not in self.reductions:
            raise ValueError(f"reduction={reduction!r}: choose {', '.join(self.reductions)}")
        self.reduction, self.ignore_index = reduction, ignore_index
        for name in ("prevalence", "counts", "expected", "log_rate"):
            self.register_buffer(name, None)
        if log_rate is not None:
            if prevalence is not None or counts is not None or expected is not None:
                raise ValueError("give log_rate, or prevalence and counts: the rates are counts over prevalences")
            self.log_rate = _by_class(log_rate)
        elif prevalence is not None or counts is not None:
            self._take(prevalence, counts, expected)

    def _take(self, prevalence, counts, expected):
        if prevalence is None or counts is None:
            raise ValueError("give both prevalence and counts, or log_rate")
        prevalence = _by_class(prevalence)
        if prevalence.numel() == 1:  # of the second of two classes
            prevalence = torch.cat([1 - prevalence, prevalence])
        counts = _by_class(counts)
        if prevalence.shape != counts.shape:
            raise ValueError(f"{prevalence.numel()} prevalences and {counts.numel()} label counts; one for each class")
        if not ((prevalence > 0) & (prevalence < 1)).all() or abs(float(prevalence.sum()) - 1) > 1e-6:
            raise ValueError(f"a prevalence is between 0 and 1, and they add up to 1: {prevalence.tolist()}")
        if not (counts > 0).all():
            raise ValueError(f"every class needs rows: counts are {counts.tolist()}")
        self.prevalence, self.counts = prevalence / prevalence.sum(), counts
        if expected is not None:
            expected = _by_class(expected)
            if expected.shape != counts.shape or not (expected > 0).all():
                raise ValueError("expected is the proportion of each class in a batch")
            self.expected = expected / expected.sum()

    def _counted(self, logits, target, weight):
        """(logits, labels, weights, the rows' shape, whether each row counts), the first three of the rows that do."""
        logits, labels, shape = _rows(logits, target)
        weights = logits.new_ones(labels.shape)
        if weight is not None:
            weight = torch.as_tensor(weight).to(logits)
            if weight.numel() != labels.numel():
                raise ValueError(f"weight has one number for each row, {labels.numel()}, not {weight.numel()}")
            weights = weight.reshape(-1)
        counts = labels != self.ignore_index
        if not counts.all():
            logits, labels, weights = logits[counts], labels[counts], weights[counts]
        if labels.numel() == 0:
            raise ValueError("every row of the batch has the label that is ignored")
        if int(labels.min()) < 0 or int(labels.max()) >= logits.shape[1]:
            wrong = int(labels.min()) if int(labels.min()) < 0 else int(labels.max())
            raise ValueError(f"the label {wrong} is not one of the {logits.shape[1]} classes; ignore_index is {self.ignore_index}")
        return logits, labels, weights, shape, counts

    def _per_label(self, labels, classes, weights):
        """Rows of the training set that a row of each label in the batch represents."""
        if classes != self.counts.numel():
            raise ValueError(f"logits of {classes} classes, and the loss was made for {self.counts.numel()}")
        if self.expected is not None:
            return self.counts / (weights.sum().to(self.counts) * self.expected)
        here = torch.bincount(labels, weights.to(self.counts), minlength=classes)
        if not (here > 0).all():
            absent = int((here == 0).to(torch.int).argmax())
            raise ValueError(
                f"class {absent} has no row in a batch of {labels.numel()}: use BalancedBatchSampler, larger batches, or "
                "state the expected proportion of each class in a batch (expected=)"
            )
        return self.counts / here

    def _shares(self, labels, classes, weights):
        """What each row of the batch counts, adding up to 1 in the mean over batches."""
        if self.counts is None and self.log_rate is None:
            raise ValueError("the loss needs prevalence and counts, or log_rate")
        if self.counts is None:
            return weights / weights.sum()
        return weights * (self._per_label(labels, classes, weights) / self.counts.sum()).to(weights)[labels]

    def _reduced(self, losses, shape, counts):
        """losses: of the rows that count, adding up to the loss."""
        if self.reduction == "mean":
            return losses.sum()
        if self.reduction == "sum":
            return losses.sum() * losses.numel()
        made = losses.new_zeros(counts.shape)
        made[counts] = losses * losses.numel()
        return made.reshape(shape)

    def extra_repr(self) -> str:
        named = {"prevalence": self.prevalence, "counts": self.counts, "log_rate": self.log_rate}
        said = [f"{name}={[round(v, 6) for v in value.tolist()]}" for name, value in named.items() if value is not None]
        return ", ".join(said + ([] if self.reduction == "mean" else [f"reduction={self.reduction!r}"]))


class SelectionLoss(_BatchLoss):
    """The selection likelihood: -log of the probability of the label in the design.

    p(y|x) in the population, times the sampling rate of that label, normalised: logit adjustment. It has the
    stationary points of the information gain with p(x) profiled out, and needs no auxiliary network.

    Parameters
    ----------
    prevalence : sequence of float, or float
        The prevalence of each class in the population; a single number is that of the second of two.
    counts : sequence of float
        The number of rows of each class in the training set. The rates are counts over prevalences.
    expected : sequence of float, optional
        The expected proportion of each class in a batch. Default: the batch's own counts.
    log_rate : sequence of float, optional
        Instead of prevalence and counts: the logarithm of the sampling rate of each class, up to a constant. With one
        in 20 negatives kept: `[math.log(1 / 20), 0.0]`. Rows are then not reweighted.
    reduction : {"mean", "sum", "none"}
        "mean": the loss of the training set per row. "sum": that times the number of rows in the batch. "none": a loss for
        each row, whose mean is that of "mean".
    ignore_index : int
        The label of rows to ignore.

    Notes
    -----
    `loss(logits, target, weight=None, log_rate=None)`. Logits have the shape (n, n_classes, ...), or (n,) and (n, 1, ...) with
    the log odds of the second class; labels (n, ...) or (n, 1, ...), whole numbers of any type: images of labels are rows of
    pixels. `weight` has a factor for each row. `log_rate` here has one number for each class, or for each row and class, of
    shape (n, n_classes, ...), where the rate depends on more than the label; it replaces that of the design.
    """

    def forward(
        self, logits: torch.Tensor, target: torch.Tensor, weight: Numbers | None = None, log_rate: Numbers | None = None
    ) -> torch.Tensor:
        outputs, labels, weights, shape, counts = self._counted(logits, target, weight)
        f = _log_likelihood(outputs)
        if log_rate is not None:
            rate = _flat_rates(log_rate, outputs, shape)
            rate = rate[counts] if rate.dim() == 2 else rate
            shares = weights / weights.sum()
        else:
            shares = self._shares(labels, f.shape[1], weights)
            rate = (self.counts.log() - self.prevalence.log() if self.log_rate is None else self.log_rate).to(f)
            if rate.numel() != f.shape[1]:
                raise ValueError(f"logits of {f.shape[1]} classes, and the loss was made for {rate.numel()}")
        log_p = functional.log_softmax(f + rate, dim=1)
        return self._reduced(shares * -log_p.gather(1, labels[:, None])[:, 0], shape, counts)


class ImportanceWeightedLoss(_BatchLoss):
    """Log-loss with weights: prevalence over design, or one over the rate at which a row was drawn.

    Parameters
    ----------
    prevalence, counts, expected, reduction, ignore_index
        As for `SelectionLoss`.
    log_rate : sequence of float, optional
        Instead of prevalence and counts: for each class the logarithm of the rate at which its rows were drawn.

    Notes
    -----
    `loss(logits, target, weight=None, log_rate=None)`, as for `SelectionLoss`, except that `log_rate` has one number
    for each row,
    in the shape of the labels. Rates are relative to those of drawing from the population: then the mean over
    batches is the log-loss of the population, whatever the rates depend on. For example, if a third of the patches is
    forced to contain foreground, the log rate of a pixel is `log(2 / 3 + 1 / 3 * a / b)`, where a and b are the
    probabilities that a forced patch and an arbitrary patch contain it.
    """

    def forward(
        self, logits: torch.Tensor, target: torch.Tensor, weight: Numbers | None = None, log_rate: Numbers | None = None
    ) -> torch.Tensor:
        outputs, labels, weights, shape, counts = self._counted(logits, target, weight)
        f = _log_likelihood(outputs)
        shares = self._shares(labels, f.shape[1], weights) if log_rate is None else weights / weights.sum()
        if log_rate is not None:
            log_rate = torch.as_tensor(log_rate).to(f)
            if log_rate.numel() != counts.numel():
                raise ValueError(f"log_rate has one number for each row, {shape}, not {tuple(log_rate.shape)}; those of classes go to the constructor")
            factor = (-log_rate.reshape(-1)[counts]).exp()
        elif self.log_rate is not None:
            factor = (-self.log_rate).exp().to(f)[labels]
        else:
            factor = (self.prevalence / (self.counts / self.counts.sum())).to(f)[labels]
        return self._reduced(shares * factor * -f.gather(1, labels[:, None])[:, 0], shape, counts)


class InformationGainLoss(_BatchLoss):
    """The bias-corrected loss of the paper: -log p(y|x)/p(y), with the marginal p(y) from an auxiliary network.

    The marginal's gradient comes from the batch, its value from the auxiliary network q, which is trained in the same
    step: give both to the optimiser, `torch.optim.Adam([{"params": net.parameters(), "lr": lr}, *loss.groups(lr)])`.

    Parameters
    ----------
    prevalence, counts, expected
        As for `SelectionLoss`.
    auxiliary : {"constant", "linear"}
        q is a constant, or linear in the network's parameters.
    parameters : iterable of Tensor, optional
        With "linear": the network's parameters.
    prevalence_n : float, optional
        The number of observations behind the prevalence. Default: the number of training rows. The information gain
        alone does not determine the prevalence; this term keeps p(y) near it. Infinite: the term is left out.
    sparsity : float
        Rate of the Laplace prior on the matrix of the linear network.
    reduction : {"mean", "sum"}
        As for `SelectionLoss`. The loss is not a sum over rows.
    ignore_index : int
        As for `SelectionLoss`.

    Notes
    -----
    `loss(logits, target, weight=None)`, as for `SelectionLoss`.
    """

    reductions = ("mean", "sum")

    def __init__(
        self,
        prevalence: Numbers | float,
        counts: Numbers,
        expected: Numbers | None = None,
        *,
        auxiliary: str = "constant",
        parameters: Iterable[torch.Tensor] | None = None,
        prevalence_n: float | None = None,
        sparsity: float = 1e-3,
        reduction: str = "mean",
        ignore_index: int = -100,
    ) -> None:
        super().__init__(prevalence, counts, expected, reduction=reduction, ignore_index=ignore_index)
        if self.counts is None:
            raise ValueError("give both prevalence and counts")
        if auxiliary not in ("constant", "linear"):
            raise ValueError(f"auxiliary={auxiliary!r}: choose constant or linear")
        if (auxiliary == "linear") != (parameters is not None):
            raise ValueError("the linear auxiliary network, and it alone, needs the parameters of the network")
        self.auxiliary, self.sparsity = auxiliary, sparsity
        self.prevalence_n = float(self.counts.sum() if prevalence_n is None else prevalence_n)
        self._watched = None if parameters is None else list(parameters)  # not this module's own
        like = self._watched[0] if self._watched else torch.zeros(())
        self.bias = nn.Parameter(self.prevalence.log().to(like))
        self.offset = self.matrix = None
        if self._watched is not None:
            w = self._flat()
            self.offset = nn.Parameter(w.clone())
            self.matrix = nn.Parameter(w.new_zeros(w.numel(), self.bias.numel()))

    def _flat(self):
        return torch.cat([w.detach().reshape(-1) for w in self._watched])

    def groups(self, lr: float) -> list[dict[str, Any]]:
        """The auxiliary network's parameters for an optimiser, at the paper's rates."""
        made = [{"params": [self.bias], "lr": 10 * lr}]
        if self.matrix is not None:
            made += [{"params": [self.offset], "lr": lr}, {"params": [self.matrix], "lr": 0.1 * lr}]
        return made

    def log_q(self) -> torch.Tensor:
        """The auxiliary network's log p(y)."""
        logits = self.bias
        if self.matrix is not None:
            logits = logits + (self._flat() - self.offset) @ self.matrix
        return functional.log_softmax(logits, dim=0)

    def forward(self, logits: torch.Tensor, target: torch.Tensor, weight: Numbers | None = None) -> torch.Tensor:
        logits, labels, weights, _, _ = self._counted(logits, target, weight)
        f = _log_likelihood(logits)
        per_label = self._per_label(labels, f.shape[1], weights)
        losses = -f.gather(1, labels[:, None])[:, 0]
        data = (weights * per_label.to(f)[labels] * losses).sum()
        # The batch estimate of p(y): a row of label y counts prevalence(y) / (number of rows of that label).
        share = weights * (self.prevalence / self.counts * per_label).to(f)[labels]
        marginal = (share[:, None] * f.exp()).sum(dim=0)
        counts = self.counts.to(f)
        if math.isfinite(self.prevalence_n):
            counts = counts - self.prevalence_n * self.prevalence.to(f)
        log_q = self.log_q().to(f)
        fixed = log_q.detach()
        alpha = marginal * (-fixed).exp()  # its gradient is that of log p(y); the value is log q
        term = (counts * (alpha - alpha.detach() + fixed)).sum()
        follow = -(marginal.detach() * log_q).sum()
        if self.matrix is not None:
            follow = follow + self.sparsity * self.matrix.abs().sum().to(follow)
        loss = (data + term) / float(self.counts.sum()) + (follow - follow.detach())
        return loss * labels.numel() if self.reduction == "sum" else loss


def start_at_prevalence(layer: Any, prevalence: Numbers | float) -> None:
    """Sets the bias of an output layer to the log prevalence: a good start for networks with rare classes.

    Parameters
    ----------
    layer : module with a `bias`
        Its outputs are logits; one output is the log odds of the second of two classes.
    prevalence : sequence of float, or float
        As for `SelectionLoss`.
    """
    share = _by_class(prevalence)
    if share.numel() == 1:
        share = torch.cat([1 - share, share])
    start = share.log()
    if layer.bias.numel() == 1 and share.numel() == 2:
        start = (start[1] - start[0]).reshape(1)
    if start.numel() != layer.bias.numel():
        raise ValueError(f"{layer.bias.numel()} outputs and {share.numel()} classes")
    with torch.no_grad():
        layer.bias.copy_(start.to(layer.bias))


class BalancedBatchSampler(torch.utils.data.Sampler):
    """Batches with equal numbers of rows of each class, for `DataLoader(..., batch_sampler=...)` or to index tensors.

    The rows of a class come in random order, each equally often; an epoch draws as many rows as there are.

    Parameters
    ----------
    labels : sequence of int
        The label of each row, 0, 1, ...
    batch_size : int
        At least one row of each class.
    seed : int
        The seed of the order, which changes with each epoch.
    """

    def __init__(self, labels: Numbers, batch_size: int, seed: int = 0) -> None:
        labels = torch.as_tensor(labels).reshape(-1)
        self.rows = [torch.nonzero(labels == label)[:, 0] for label in torch.unique(labels)]
        if batch_size < len(self.rows) or len(self.rows) < 2:
            raise ValueError(f"batches of {batch_size} rows of {len(self.rows)} classes: give at least one of each of two")
        self.batch_size, self.seed, self.epoch, self._all = batch_size, seed, 0, labels.numel()

    def __len__(self) -> int:
        return max(1, round(self._all / self.batch_size))

    def __iter__(self) -> Iterator[list[int]]:
        random = torch.Generator().manual_seed(self.seed * 1_000_003 + self.epoch)
        self.epoch += 1
        each, rest = divmod(self.batch_size, len(self.rows))
        queues = [torch.empty(0, dtype=torch.long)] * len(self.rows)
        for batch in range(len(self)):
            made = []
            for label, rows in enumerate(self.rows):
                n = each + ((label - batch) % len(self.rows) < rest)
                while queues[label].numel() < n:
                    order = rows[torch.randperm(rows.numel(), generator=random)]
                    queues[label] = torch.cat([queues[label], order])
                made.append(queues[label][:n])
                queues[label] = queues[label][n:]
            yield torch.cat(made).tolist()
