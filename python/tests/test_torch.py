"""The losses of prevail.torch against the library's own values and gradients."""

import doctest
import math
import os

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import prevail.torch as losses  # noqa: E402
from prevail import _c  # noqa: E402

CLASSES = 3
COUNTS, PREVALENCE = [40.0, 25.0, 10.0], [0.9, 0.07, 0.03]


@pytest.fixture
def batch():
    torch.manual_seed(1)
    logits = torch.randn(24, CLASSES, dtype=torch.float64, requires_grad=True)
    return logits, torch.tensor([0, 1, 2, 1] * 6)


def in_c(ffi, loss, marginal, logits, target, log_q, prevalence_n=math.inf, expected=None):
    """Value, gradient by log-likelihoods and the batch's marginal of pv_batch_loss_eval."""
    library = ffi.dlopen(_c.lib._name)
    ctx = ffi.new("pv_ctx **")
    assert library.pv_ctx_new(ffi.NULL, ctx) == 0
    loglik = torch.log_softmax(logits, dim=1).detach().numpy().copy()
    label = ffi.new("int32_t[]", target.tolist())
    full, prevalence = ffi.new("double[]", COUNTS), ffi.new("double[]", PREVALENCE)
    shares = ffi.new("double[]", expected or [1 / CLASSES] * CLASSES)
    asked = ffi.new("pv_batch_loss *")
    asked.loss, asked.marginal = getattr(library, f"PV_LOSS_{loss}"), getattr(library, f"PV_MARGINAL_{marginal}")
    asked.implementation = library.PV_IMPLEMENTATION_2
    weighting = library.PV_WEIGHT_COUNTED if expected is None else library.PV_WEIGHT_EXPECTED
    design = asked.design
    design.sampling.strata, design.sampling.full, design.sampling.expected = CLASSES, full, shares
    design.mass, design.population.classes, design.population.prevalence = full, CLASSES, prevalence
    design.population.prevalence_n = prevalence_n
    design.population_weight = design.epoch_weight = weighting
    targets = ffi.new("pv_targets *", {"n": len(target), "classes": CLASSES, "label": label})
    value, slope = ffi.new("double *"), np.zeros_like(loglik)
    marginals, q = ffi.new("double[]", CLASSES), ffi.new("double[]", [float(v) for v in log_q])
    assert library.pv_batch_loss_eval(
        ctx[0], asked, targets, ffi.NULL, ffi.cast("double *", loglik.ctypes.data), q, value,
        ffi.cast("double *", slope.ctypes.data), marginals,
    ) == 0, ffi.string(library.pv_ctx_message(ctx[0]))  # fmt: skip
    library.pv_ctx_free(ctx[0])
    # From logits, through the softmax.
    p = np.exp(loglik)
    return value[0], slope - p * slope.sum(axis=1, keepdims=True), np.array([marginals[y] for y in range(CLASSES)])


@pytest.mark.parametrize("expected", [None, [0.25, 0.5, 0.25]])
@pytest.mark.parametrize("name", ["selection", "iw", "constant", "linear", "finite"])
def test_as_the_library(ffi, batch, name, expected):
    logits, target = batch
    log_q, n, marginal, kind = np.log(PREVALENCE), math.inf, "PROFILE", "IG"
    if name == "selection":
        made = losses.SelectionLoss(PREVALENCE, COUNTS, expected)
    elif name == "iw":
        kind, made = "IW", losses.ImportanceWeightedLoss(PREVALENCE, COUNTS, expected)
    else:
        more = {"prevalence_n": n}
        if name == "linear":
            more |= {"auxiliary": "linear", "parameters": [torch.randn(5, dtype=torch.float64)]}
        if name == "finite":
            n = more["prevalence_n"] = 30.0
        made = losses.InformationGainLoss(PREVALENCE, COUNTS, expected, **more).double()
        with torch.no_grad():
            made.bias += torch.tensor([0.1, -0.2, 0.3])
            if made.matrix is not None:
                made.matrix += torch.randn(5, CLASSES, dtype=torch.float64)
                made.offset += 0.5
        log_q = made.log_q().detach().numpy()
        marginal = "AUXILIARY_LINEAR" if name == "linear" else "AUXILIARY_CONSTANT"
    value = made(logits, target)
    value.backward()
    wanted, slope, _ = in_c(ffi, kind, marginal, logits, target, log_q, n, expected)
    total = sum(COUNTS)
    assert float(value.detach()) * total == pytest.approx(wanted, rel=1e-12)
    np.testing.assert_allclose(logits.grad.numpy() * total, slope, rtol=1e-10, atol=1e-12)


def test_the_auxiliary_network_learns(ffi, batch):
    """Its gradient is that of the soft cross-entropy to the batch's marginal, and its logits are linear as the library's."""
    logits, target = batch
    w = torch.randn(4, dtype=torch.float64)
    made = losses.InformationGainLoss(PREVALENCE, COUNTS, auxiliary="linear", parameters=[w], sparsity=0.0, prevalence_n=math.inf).double()
    with torch.no_grad():
        made.matrix += torch.randn(4, CLASSES, dtype=torch.float64)
        made.offset -= 0.3
    made(logits, target).backward()
    log_q = made.log_q().detach().numpy()
    _, _, log_p = in_c(ffi, "IG", "AUXILIARY_LINEAR", logits, target, log_q)
    p, q = np.exp(log_p), np.exp(log_q)
    np.testing.assert_allclose(made.bias.grad.numpy(), q * p.sum() - p, atol=1e-12)
    library = ffi.dlopen(_c.lib._name)
    ctx, network = ffi.new("pv_ctx **"), ffi.new("pv_auxiliary **")
    assert library.pv_ctx_new(ffi.NULL, ctx) == 0
    start = ffi.new("double[]", made.bias.detach().tolist())
    offset, at = ffi.new("double[]", made.offset.detach().tolist()), ffi.new("double[]", w.tolist())
    assert library.pv_auxiliary_new(ctx[0], library.PV_MARGINAL_AUXILIARY_LINEAR, CLASSES, 4, start, offset, network) == 0
    view = library.pv_auxiliary_parameters(network[0])
    for i, value in enumerate(made.matrix.detach().reshape(-1).tolist()):
        view.matrix[i] = value
    out = ffi.new("double[]", CLASSES)
    library.pv_auxiliary_forward(network[0], at, out)
    np.testing.assert_allclose([out[y] for y in range(CLASSES)], log_q, atol=1e-12)
    library.pv_auxiliary_free(ctx[0], network[0])
    library.pv_ctx_free(ctx[0])


@pytest.mark.parametrize("name", ["selection", "ig", "iw"])
def test_training_finds_the_population(name):
    torch.manual_seed(0)
    y = torch.arange(1200) % 2
    X = torch.randn(1200, 2) + torch.stack([1.5 * y, torch.zeros(1200)], dim=1)
    net = torch.nn.Linear(2, 2)
    losses.start_at_prevalence(net, 0.02)
    counts = torch.bincount(y)
    if name == "ig":
        loss = losses.InformationGainLoss(0.02, counts)
        groups = loss.groups(0.02)
    else:
        loss = {"selection": losses.SelectionLoss, "iw": losses.ImportanceWeightedLoss}[name](0.02, counts)
        groups = []
    optimiser = torch.optim.Adam([{"params": net.parameters(), "lr": 0.02}, *groups])
    sampler = losses.BalancedBatchSampler(y, 100)
    for _ in range(40):
        for rows in sampler:
            optimiser.zero_grad()
            loss(net(X[rows]), y[rows]).backward()
            optimiser.step()
    with torch.no_grad():
        p = net(X).softmax(1)[:, 1]
        odds = net.weight[1] - net.weight[0]
    assert float(0.02 * p[y == 1].mean() + 0.98 * p[y == 0].mean()) == pytest.approx(0.02, abs=0.006)
    assert float(odds[0]) == pytest.approx(1.5, abs=0.4)


def test_shapes_and_devices(batch):
    logits, target = batch
    one = torch.randn(24, 1, requires_grad=True)
    loss = losses.SelectionLoss(0.1, [50, 50])
    y = target.clamp(max=1)
    assert float(loss(one, y)) == pytest.approx(float(loss(one[:, 0], y)))
    both = torch.cat([torch.zeros_like(one), one], dim=1)
    assert float(loss(both, y)) == pytest.approx(float(loss(one, y)), rel=1e-6)
    devices = ["cuda"] if torch.cuda.is_available() else []
    for device in devices:
        for made in (loss, losses.InformationGainLoss(0.1, [50, 50]), losses.ImportanceWeightedLoss(0.1, [50, 50])):
            here, there = made(both, y), made.to(device)(both.to(device), y.to(device))
            assert float(there) == pytest.approx(float(here), rel=1e-5)
    assert "SelectionLoss(prevalence=[0.9, 0.1]" in repr(loss)


def test_misuse():
    for arguments, part in (
        ((1.5, [1, 1]), "between 0 and 1"),
        (([0.5, 0.6], [1, 1]), "add up to 1"),
        (([0.5, 0.5], [1, 1, 1]), "one for each class"),
        ((0.1, [5, 0]), "every class needs rows"),
    ):
        with pytest.raises(ValueError, match=part):
            losses.SelectionLoss(*arguments)
    loss = losses.SelectionLoss(0.1, [5, 5])
    with pytest.raises(ValueError, match="class 1 has no row in a batch of 2"):
        loss(torch.zeros(2, 2), torch.tensor([0, 0]))
    with pytest.raises(ValueError, match="3 classes"):
        loss(torch.zeros(2, 3), torch.tensor([0, 1]))
    with pytest.raises(ValueError, match="needs the parameters"):
        losses.InformationGainLoss(0.1, [5, 5], auxiliary="linear")
    with pytest.raises(ValueError, match="at least one of each"):
        losses.BalancedBatchSampler([0, 1, 2], 2)


def test_sampler():
    labels = [0] * 90 + [1] * 10
    sampler = losses.BalancedBatchSampler(labels, 10, seed=3)
    batches = list(sampler)
    assert len(batches) == len(sampler) == 10
    assert all(sum(labels[i] for i in rows) == 5 for rows in batches)
    common = [i for rows in batches for i in rows if i < 90]
    assert len(set(common)) == len(common)  # each once before any comes again
    assert sorted(i for rows in batches for i in rows if i >= 90) == sorted(list(range(90, 100)) * 5)
    assert list(sampler) != batches and list(losses.BalancedBatchSampler(labels, 10, seed=3)) == batches
    loader = torch.utils.data.DataLoader(torch.arange(100), batch_sampler=sampler)
    assert sum(1 for _ in loader) == 10
    odd = losses.BalancedBatchSampler([0, 0, 0, 1, 1, 2], 5)
    assert all(len(rows) == 5 for rows in odd)


def test_docstring():
    assert doctest.testmod(losses).failed == 0


@pytest.mark.skipif(not hasattr(torch, "compile") or os.environ.get("PREVAIL_TORCH_COMPILE") != "1", reason="PREVAIL_TORCH_COMPILE is not 1")
def test_compiled(batch):
    logits, target = batch
    loss = losses.SelectionLoss(PREVALENCE, COUNTS)
    assert float(torch.compile(loss)(logits, target)) == pytest.approx(float(loss(logits, target)))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", ["SelectionLoss", "ImportanceWeightedLoss", "InformationGainLoss"])
def test_half_precision(name, dtype):
    """Logits of autocast are read as they are and summed in single precision: more rows than float16 can count."""
    n = 70_000
    target = torch.arange(n) % 2
    logits = torch.linspace(-2, 2, 2 * n).reshape(n, 2).to(dtype).requires_grad_()
    loss = getattr(losses, name)([0.99, 0.01], counts=[1e6, 1e6])
    value, wanted = loss(logits, target), loss(logits.float(), target)
    assert value.dtype == torch.float32 and value.item() == wanted.item() != 0
    (gradient,) = torch.autograd.grad(value, logits)
    assert gradient.dtype == dtype and torch.isfinite(gradient).all()
    if name != "InformationGainLoss":
        rates = getattr(losses, name)(log_rate=[math.log(1 / 20), 0.0])
        assert rates(logits, target).item() == rates(logits.float(), target).item() != 0
