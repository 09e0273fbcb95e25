"""What every family of reference numbers shares: values and gradients of one function, and JSON."""
import math

import torch

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)


class Source:
    """Numbers that are multiples of 1/1024, so exact in float."""

    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)

    def draw(self, *shape, low=-2.0, high=2.0):
        u = torch.rand(shape, generator=self.generator)
        return torch.round((low + (high - low) * u) * 1024) / 1024

    def nonzero(self, *shape):
        u = torch.rand(shape, generator=self.generator)
        sign = torch.where(torch.rand(shape, generator=self.generator) < 0.5, -1.0, 1.0)
        return torch.round((0.25 + 1.75 * u) * 1024) / 1024 * sign


def to_json(tensor):
    """Shape and numbers; JSON has no infinities, so they are strings."""
    def number(v):
        if isinstance(v, int) or math.isfinite(v):
            return v if v != 0 or math.copysign(1, v) < 0 else 0
        return repr(v)  # 'inf', '-inf', 'nan'
    tensor = tensor.detach()
    return {"shape": list(tensor.shape), "data": [number(v) for v in tensor.reshape(-1).tolist()]}


def from_json(item):
    return torch.tensor([float(v) for v in item["data"]]).reshape(item["shape"])


def largest(*tensors):
    """The largest finite magnitude, at least the smallest normal float."""
    top = 2.0 ** -126
    for t in tensors:
        t = t.detach().abs()
        t = t[torch.isfinite(t)]
        if t.numel():
            top = max(top, t.max().item())
    return top


def terms_of(row, x):
    """J[j, i] * x[i] for one j; a common offset of x is taken off first where the row sums to 0 (a softmax, a norm)."""
    row, x = row[row != 0], x[row != 0]
    size = row.abs().sum()
    if row.sum().abs() < 1e-9 * size:
        x = x - (row.abs() * x).sum() / size
    return row * x


def measure(f, inputs, cotangent=None, source=None):
    """Value and gradients of sum(cotangent * f(*inputs)), each with what its float bar needs.

    `terms` and `scale` of a result come from the Jacobian J. A gradient sums cotangent[j] * J[j, i] over j; a value
    is, to first order, made of the terms J[j, i] * input[i] over i, without what is common to all input[i] where that
    has no influence. `terms` is the largest count of nonzero terms that go into one number, `scale` the largest
    magnitude among those terms and the numbers themselves.
    """
    inputs = [x.clone().requires_grad_() for x in inputs]
    y = f(*inputs)
    if cotangent is None:
        cotangent = source.nonzero(*y.shape)

    def gradients(seed):
        found = torch.autograd.grad(y, inputs, seed, retain_graph=True, allow_unused=True)
        return [torch.zeros_like(x) if g is None else g for g, x in zip(found, inputs)]

    value_terms, value_scale = 1, largest(y)
    counts = [torch.zeros_like(x) for x in inputs]
    scales = [0.0 for _ in inputs]
    for j in range(y.numel()):
        seed = torch.zeros(y.numel())
        seed[j] = 1
        rows = gradients(seed.reshape(y.shape))
        value_terms = max(value_terms, sum(int((r != 0).sum()) for r in rows))
        value_scale = max(value_scale, largest(*[terms_of(r, x) for r, x in zip(rows, inputs)]))
        c = cotangent.reshape(-1)[j]
        for i, r in enumerate(rows):
            counts[i] += (r * c != 0)
            scales[i] = max(scales[i], largest(r * c))

    total = gradients(cotangent)
    result = {"cotangent": to_json(cotangent), "value": to_json(y), "gradients": []}
    result["value"].update(terms=value_terms, scale=round_up(value_scale))
    for g, count, scale in zip(total, counts, scales):
        terms = max(1, int(count.max())) if count.numel() else 1
        result["gradients"].append(dict(to_json(g), terms=terms, scale=round_up(max(scale, largest(g)))))
    return result


def round_up(scale):
    """A few digits are enough for a scale."""
    return float(f"{scale * 1.0005:.4g}")
