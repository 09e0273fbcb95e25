"""One PyTorch function per row of the op table, by the row's name (special_NAME is the same function as NAME)."""
import math

import torch
import torch.nn.functional as F

from torch_case import from_json, measure, to_json


def erf_gelu(x):  # with erfc, since 1 + erf(x) cancels far below 0
    return 0.5 * x * torch.erfc(-x * math.sqrt(0.5))


def derivative(f):
    return lambda x: torch.autograd.grad(f(x).sum(), x, create_graph=True)[0]


def softplus(x):  # PyTorch's own is x above 20, where exp(-20) is still to be seen in double
    return F.softplus(x, threshold=36)


def masked_softmax(axis):
    def f(x):
        mask = torch.ones(x.shape[-2:]).tril(-1)
        e = torch.exp(x - x.amax(axis, keepdim=True).detach()) * mask
        total = e.sum(axis, keepdim=True)
        return e / (total + (total == 0))  # a row that allows nothing: zeros
    return f


def place(x):
    y = torch.zeros(3, 5)
    y[:, 1:5:2] = x
    return y


REPEATED = torch.tensor([[0, 4, 2], [2, 4, 2]])

FUNCTIONS = {
    "neg": lambda x: -x,
    "add_number": lambda x: x + 3,
    "number_minus": lambda x: 3 - x,
    "mul_number": lambda x: 0.5 * x,
    "div_number": lambda x: x / 4,
    "number_div": lambda x: 3 / x,
    "exp": torch.exp,
    "log": torch.log,
    "log1p": torch.log1p,
    "expm1": torch.expm1,
    "sqrt": torch.sqrt,
    "rsqrt": torch.rsqrt,
    "abs": torch.abs,
    "square": torch.square,
    "sin": torch.sin,
    "cos": torch.cos,
    "tanh": torch.tanh,
    "erf": torch.erf,
    "pow_0": lambda x: torch.pow(x, 0),
    "pow_1": lambda x: torch.pow(x, 1),
    "pow_2": lambda x: torch.pow(x, 2),
    "pow_3": lambda x: torch.pow(x, 3),
    "pow_neg2": lambda x: torch.pow(x, -2),
    "pow_2_5": lambda x: torch.pow(x, 2.5),
    "pow_0_5": lambda x: torch.pow(x, 0.5),
    "pow_of_number": lambda x: torch.pow(1.5, x),
    "clip": lambda x: torch.clamp(x, -0.5, 0.75),
    "relu": torch.relu,
    "sigmoid": torch.sigmoid,
    "softplus": softplus,
    "gelu": erf_gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "normal_cdf": lambda x: 0.5 * torch.erfc(-x * math.sqrt(0.5)),
    "normal_pdf": lambda x: torch.exp(-0.5 * x * x) / math.sqrt(2 * math.pi),
    "gelu_grad": derivative(F.gelu),
    "gelu_tanh_grad": derivative(lambda x: F.gelu(x, approximate="tanh")),
    "silu_grad": derivative(F.silu),

    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": torch.div,
    "pow": torch.pow,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "where": lambda a, b: torch.where(a > -b, a * a, torch.sin(b)),
    "where_number": lambda a, b: torch.where(a > b, a * b, torch.tensor(0.5)),
    "mul_self": lambda x: x * x,
    "pow_self": lambda x: torch.pow(x, x),
    "maximum_self": lambda x: torch.maximum(x, 0.5 * x + 5),
    "linear": F.linear,
    "linear_no_bias": F.linear,
    "concatenate_0": lambda *x: torch.cat(x, 0),
    "concatenate_last": lambda *x: torch.cat(x, -1),
    "stack_0": lambda *x: torch.stack(x, 0),
    "stack_1": lambda *x: torch.stack(x, 1),
    "stack_last": lambda *x: torch.stack(x, -1),
    "split_equal": lambda x: (lambda a, b, c: a * c - torch.square(b))(*torch.chunk(x, 3, -1)),
    "split_sizes": lambda x: torch.cat([x[2:] * x[2:], x[:2].sum(0, keepdim=True) * x[2:], x[2:2]]),

    "variance_twin": lambda x: x.var(1, unbiased=False),
    "variance_sample": lambda x: x.var(1),
    "stddev": lambda x: x.std(unbiased=False),
    "stddev_last_keep": lambda x: x.std(-1, unbiased=False, keepdim=True),
    "stddev_axes_0_2": lambda x: x.std((0, 2), unbiased=False),
    "stddev_sample": lambda x: x.std(1),
    "norm_twin": lambda x: torch.linalg.vector_norm(x, dim=-1),
    "logsumexp_twin": lambda x: torch.logsumexp(x, (0, 1)),
    "softmax": lambda x: torch.softmax(x, -1),
    "softmax_axis_0": lambda x: torch.softmax(x, 0),
    "softmax_axis_1": lambda x: torch.softmax(x, 1),
    "softmax_masked": masked_softmax(-1),
    "softmax_masked_axis_0": masked_softmax(0),
    "log_softmax": lambda x: torch.log_softmax(x, -1),
    "log_softmax_axis_1": lambda x: torch.log_softmax(x, 1),
    "softmax_backward": lambda y, g: y * (g - (g * y).sum(0, keepdim=True)),

    "reshape": lambda x: x.reshape(5, -1),
    "reshape_to_0d": lambda x: x.reshape(()),
    "transpose": lambda x: x.permute(*reversed(range(x.dim()))),
    "permute": lambda x: x.permute(1, 2, 0),
    "permute_negative": lambda x: x.permute(-1, 0, -2),
    "expand_dims_0": lambda x: x.unsqueeze(0),
    "expand_dims_last": lambda x: x.unsqueeze(-1),
    "squeeze": torch.squeeze,
    "squeeze_axis": lambda x: x.squeeze(-1),
    "broadcast_to": lambda x: x.expand(2, 3, 5),
    "sum_to": lambda x: x.sum((0, 2)).reshape(3, 1),
    "slice": lambda x: x[1:3, 0:5:2],
    "slice_index": lambda x: x[:, -1],
    "slice_back": lambda x: x[torch.tensor([4, 2])],  # x[-1:0:-2]; PyTorch has no negative steps
    "slice_empty": lambda x: x[2:2],
    "place": place,
    "take": lambda x: x[REPEATED],
    "take_none": lambda x: x[torch.zeros(0, dtype=torch.int64)],
    "place_rows": lambda x: torch.zeros(5, 2).index_add(0, REPEATED.reshape(-1), x.reshape(-1, 2)),
}

REDUCTIONS = {
    "sum": lambda x, dim, keep: x.sum(dim, keepdim=keep),
    "mean": lambda x, dim, keep: x.mean(dim, keepdim=keep),
    "amax": lambda x, dim, keep: x.amax(dim, keepdim=keep),
    "amin": lambda x, dim, keep: x.amin(dim, keepdim=keep),
    "norm": lambda x, dim, keep: torch.linalg.vector_norm(x, dim=dim, keepdim=keep),
    "logsumexp": lambda x, dim, keep: torch.logsumexp(x, dim, keepdim=keep),
    "variance": lambda x, dim, keep: x.var(dim, unbiased=False, keepdim=keep),
}
AXES = {  # suffix: axes (None: all), keep
    "": (None, False),
    "_keep": (None, True),
    "_axis_0": ((0,), False),
    "_axis_1": ((1,), False),
    "_last_keep": ((-1,), True),
    "_axes_0_2": ((0, 2), False),
    "_axes_1_2_keep": ((-1, 1), True),
}
for name, reduce in REDUCTIONS.items():
    for suffix, (axes, keep) in AXES.items():
        FUNCTIONS[name + suffix] = (lambda x, reduce=reduce, axes=axes, keep=keep:
                                    reduce(x, tuple(range(x.dim())) if axes is None else axes, keep))

# matmul rows: what stands beside what is in the inputs' shapes; the suffix says which are transposed.
for kind in ["", "_batch", "_weight", "_left", "_vectors", "_row", "_column"]:
    for ta in ["", "_ta"]:
        for tb in ["", "_tb"]:
            FUNCTIONS["matmul" + kind + ta + tb] = (lambda a, b, ta=ta, tb=tb:
                                                    torch.matmul(a.mT if ta else a, b.mT if tb else b))


def generate(cases):
    """References for {name: {inputs, cotangent}} as the C++ table exports them."""
    result = {}
    for name, case in cases.items():
        plain = name[len("special_"):] if name.startswith("special_") else name
        if plain not in FUNCTIONS:
            raise SystemExit(f"row {name} of the op table has no PyTorch function: add one to torch_ops.py")
        inputs = [from_json(x) for x in case["inputs"]]
        measured = measure(FUNCTIONS[plain], inputs, from_json(case["cotangent"]))
        result[name] = {"inputs": [to_json(x) for x in inputs], **measured}
    return result
