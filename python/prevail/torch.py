"""The losses for networks in PyTorch, written in its operations: any device, any network that ends in logits.

All are minibatch estimates of the loss of the whole training set, divided by its rows, and take logits and labels as
`torch.nn.CrossEntropyLoss` does: logits of shape (n, n_classes), or (n,) and (n, 1) for two classes. What the network
then gives, `softmax(logits)`, are probabilities in the population whose prevalence was stated. Start its output bias
there (`start_at_prevalence`), and draw batches with as many rows of each class (`BalancedBatchSampler`).

=========================  ==========================================================================================
`SelectionLoss`            the profile's per-sample twin: what the network says, seen through the design. The default choice
`InformationGainLoss`      the paper's: each likelihood over the model's marginal, which an auxiliary network follows
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

import math

import torch
from torch import nn
from torch.nn import functional

__all__ = [
    "BalancedBatchSampler",
    "ImportanceWeightedLoss",
    "InformationGainLoss",
    "SelectionLoss",
    "start_at_prevalence",
]


def _log_likelihood(logits):
    """log p(y|x) of logits; one column is the log odds of the second of two classes."""
    if logits.dim() == 2 and logits.shape[1] == 1:
        logits = logits[:, 0]
    if logits.dim() == 1:
        logits = torch.stack([torch.zeros_like(logits), logits], dim=1)
    if logits.dim() != 2:
        raise ValueError(f"logits have the shape (n, n_classes), not {tuple(logits.shape)}")
    return functional.log_softmax(logits, dim=1)


class _BatchLoss(nn.Module):
    """What the losses share: the population, and the weights that make a batch stand for the training set."""

    def __init__(self, prevalence, counts, expected=None):
        super().__init__()
        prevalence = torch.as_tensor(prevalence, dtype=torch.float64).reshape(-1)
        if prevalence.numel() == 1:  # of the second of two classes
            prevalence = torch.cat([1 - prevalence, prevalence])
        counts = torch.as_tensor(counts, dtype=torch.float64).reshape(-1)
        if prevalence.shape != counts.shape:
            raise ValueError(f"{prevalence.numel()} prevalences and {counts.numel()} label counts; one for each class")
        if not ((prevalence > 0) & (prevalence < 1)).all() or abs(float(prevalence.sum()) - 1) > 1e-6:
            raise ValueError(f"a prevalence lies between 0 and 1, and they add up to 1: {prevalence.tolist()}")
        if not (counts > 0).all():
            raise ValueError(f"every class needs rows: counts are {counts.tolist()}")
        self.register_buffer("prevalence", prevalence / prevalence.sum())
        self.register_buffer("counts", counts)
        self.register_buffer("expected", None)
        if expected is not None:
            expected = torch.as_tensor(expected, dtype=torch.float64).reshape(-1)
            if expected.shape != counts.shape or not (expected > 0).all():
                raise ValueError("expected has the share of each class in a batch")
            self.expected = expected / expected.sum()

    def _per_label(self, target, classes):
        """Rows of the training set that a row of each label in the batch stands for."""
        if classes != self.counts.numel():
            raise ValueError(f"logits of {classes} classes, and the loss was made for {self.counts.numel()}")
        if self.expected is not None:
            return self.counts / (target.numel() * self.expected)
        here = torch.bincount(target, minlength=classes)[:classes].to(self.counts)
        if not (here > 0).all():
            absent = int((here == 0).to(torch.int).argmax())
            raise ValueError(
                f"class {absent} has no row in a batch of {target.numel()}: use BalancedBatchSampler, larger batches, or "
                "say the share of each class that is to be expected in a batch (expected=)"
            )
        return self.counts / here

    def _weights(self, logits, target):
        return self._per_label(target, logits.shape[1]).to(logits.dtype)[target]

    def extra_repr(self):
        return f"prevalence={[round(p, 6) for p in self.prevalence.tolist()]}, counts={self.counts.tolist()}"


class SelectionLoss(_BatchLoss):
    """The selection likelihood: -log of the probability of the label as the design would show it.

    p(y|x) in the population, times design over prevalence, normalised: logit adjustment. It has the stationary points of
    the information gain with p(x) profiled out, and needs no auxiliary network.

    Parameters
    ----------
    prevalence : sequence of float, or float
        Of each class in the population; a number is that of the second of two.
    counts : sequence of float
        How many rows of each class the training set has.
    expected : sequence of float, optional
        The share of each class that is to be expected in a batch. Default: the batch's own counts.
    """

    def forward(self, logits, target):
        f = _log_likelihood(logits)
        weights = self._weights(f, target)
        ratio = (self.counts / self.counts.sum()).log() - self.prevalence.log()
        log_p = functional.log_softmax(f + ratio.to(f), dim=1)
        losses = -log_p.gather(1, target[:, None])[:, 0]
        return (weights * losses).sum() / float(self.counts.sum())


class ImportanceWeightedLoss(_BatchLoss):
    """Log-loss with class weights, prevalence over design.

    Parameters
    ----------
    prevalence, counts, expected
        As for `SelectionLoss`.
    """

    def forward(self, logits, target):
        f = _log_likelihood(logits)
        total, weights = float(self.counts.sum()), self._weights(f, target)
        factor = (self.prevalence / (self.counts / total)).to(f)[target]
        losses = -f.gather(1, target[:, None])[:, 0]
        return (weights * factor * losses).sum() / total


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
        How many observations the prevalence rests on. Default: as many as the training set has rows. The information gain
        alone says nothing of the prevalence; this is what holds p(y) there. Infinite: the term is left out.
    sparsity : float
        Rate of the Laplace prior on the matrix of the linear network.
    """

    def __init__(
        self,
        prevalence,
        counts,
        expected=None,
        *,
        auxiliary="constant",
        parameters=None,
        prevalence_n=None,
        sparsity=1e-3,
    ):
        super().__init__(prevalence, counts, expected)
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

    def groups(self, lr):
        """The auxiliary network's parameters for an optimiser, at the paper's rates."""
        made = [{"params": [self.bias], "lr": 10 * lr}]
        if self.matrix is not None:
            made += [{"params": [self.offset], "lr": lr}, {"params": [self.matrix], "lr": 0.1 * lr}]
        return made

    def log_q(self):
        """The auxiliary network's log p(y)."""
        logits = self.bias
        if self.matrix is not None:
            logits = logits + (self._flat() - self.offset) @ self.matrix
        return functional.log_softmax(logits, dim=0)

    def forward(self, logits, target):
        f = _log_likelihood(logits)
        per_label = self._per_label(target, f.shape[1])
        losses = -f.gather(1, target[:, None])[:, 0]
        data = (per_label.to(f.dtype)[target] * losses).sum()
        # The batch's estimate of p(y): a row of label y counts prevalence(y) over the rows of that label.
        weight = (self.prevalence / self.counts * per_label).to(f)[target]
        marginal = (weight[:, None] * f.exp()).sum(dim=0)
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
        return (data + term) / float(self.counts.sum()) + (follow - follow.detach())


def start_at_prevalence(layer, prevalence):
    """Sets the bias of an output layer to the log prevalence: networks for rare classes had better start there.

    Parameters
    ----------
    layer : module with a `bias`
        Its outputs are logits; one output is the log odds of the second of two classes.
    prevalence : sequence of float, or float
        As for `SelectionLoss`.
    """
    share = torch.as_tensor(prevalence, dtype=torch.float64).reshape(-1)
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
    """Batches with as many rows of each class, for `DataLoader(..., batch_sampler=...)` or to index tensors with.

    The rows of a class come in random order, each as often as the others; an epoch has as many batches as it takes to
    draw as many rows as there are.

    Parameters
    ----------
    labels : sequence of int
        The label of each row, 0, 1, ...
    batch_size : int
        At least one row of each class.
    seed : int
        Of the order; each epoch has another.
    """

    def __init__(self, labels, batch_size, seed=0):
        labels = torch.as_tensor(labels).reshape(-1)
        self.rows = [torch.nonzero(labels == label)[:, 0] for label in torch.unique(labels)]
        if batch_size < len(self.rows) or len(self.rows) < 2:
            raise ValueError(f"batches of {batch_size} rows of {len(self.rows)} classes: give at least one of each of two")
        self.batch_size, self.seed, self.epoch, self._all = batch_size, seed, 0, labels.numel()

    def __len__(self):
        return max(1, round(self._all / self.batch_size))

    def __iter__(self):
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
