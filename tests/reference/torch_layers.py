"""Layers: each case has kind, options, state (as in a state_dict), input, cotangent, value and gradients by name."""
import torch
import torch.nn.functional as F

from torch_case import Source, measure, to_json


def normalized(x, axes, eps, form):
    """LayerNorm before gamma and beta, composed: the unbiased form is not PyTorch's."""
    dims = tuple(range(-axes, 0))
    centered = x - x.mean(dims, keepdim=True)
    if form == "unbiased":
        return centered / (x.std(dims, unbiased=True, keepdim=True) + eps)
    return centered / torch.sqrt(centered.square().mean(dims, keepdim=True) + eps)


def layer_norm(options):
    shape, eps, form = options["shape"], options["eps"], options["form"]

    def f(x, weight=None, bias=None):
        if form == "population" and not options.get("composed"):
            return F.layer_norm(x, shape, weight, bias, eps)
        y = normalized(x, len(shape), eps, form)
        y = y if weight is None else y * weight
        return y if bias is None else y + bias
    return f


def rms_norm(options):
    dims = tuple(range(-len(options["shape"]), 0))

    def f(x, weight=None):
        y = x / torch.sqrt(x.square().mean(dims, keepdim=True) + options["eps"])
        return y if weight is None else y * weight
    return f


def linear(_):
    return lambda x, weight, bias=None: F.linear(x, weight, bias)


ACTIVATIONS = {
    "relu": torch.relu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "swiglu": F.silu,
    "geglu": F.gelu,
}


def feed_forward(options):
    act = ACTIVATIONS[options["activation"]]
    gated = options["activation"].endswith("glu")

    def f(x, **state):
        s = {name.replace(".", "_"): v for name, v in state.items()}
        hidden = F.linear(x, s["linear1_weight"], s.get("linear1_bias"))
        if gated:
            hidden = act(F.linear(x, s["linear_gate_weight"], s.get("linear_gate_bias"))) * hidden
        else:
            hidden = act(hidden)
        return F.linear(hidden, s["linear2_weight"], s.get("linear2_bias"))
    return f


def dropout_eval(options):
    return lambda x: F.dropout(x, options["p"], training=False)


KINDS = {"layer_norm": layer_norm, "rms_norm": rms_norm, "linear": linear, "feed_forward": feed_forward,
         "dropout_eval": dropout_eval}


def case(kind, options, x, state, source):
    names = list(state)
    f = KINDS[kind](options)
    measured = measure(lambda x, *values: f(x, **dict(zip(names, values))), [x, *state.values()], source=source)
    gradients = dict(zip(["input", *names], measured.pop("gradients")))
    return {"kind": kind, "options": options, "input": to_json(x),
            "state": {name: to_json(v) for name, v in state.items()}, **measured, "gradients": gradients}


def embedding_case(options, ids, weight, source):
    """`tied` also uses the weight as the output layer."""
    def f(w):
        rows = F.embedding(ids, w)
        return F.linear(rows, w) if options["tied"] else rows
    measured = measure(f, [weight], source=source)
    return {"kind": "embedding", "options": options, "input": to_json(ids), "state": {"weight": to_json(weight)},
            **measured, "gradients": {"weight": measured["gradients"][0]}}


def norm_cases(cases, source):
    x = source.draw(2, 3, 5)
    offset = source.draw(3, 4) + 1024  # a large common offset; with 4 numbers the mean is exact
    constant = torch.cat([source.draw(1, 5), torch.ones(1, 5), torch.zeros(1, 5)])
    for form, eps in [("population", 1e-5), ("unbiased", 1e-6)]:
        for label, shape, gamma, beta in [("last", [5], True, True), ("last_plain", [5], False, False),
                                          ("last_gamma", [5], True, False), ("last_beta", [5], False, True),
                                          ("two_axes", [3, 5], True, True), ("two_axes_plain", [3, 5], False, False),
                                          ("all_axes", [2, 3, 5], True, True)]:
            options = {"shape": shape, "eps": eps, "form": form, "gamma": gamma, "beta": beta}
            state = {}
            if gamma:
                state["weight"] = source.draw(*shape)
            if beta:
                state["bias"] = source.draw(*shape)
            cases[f"layer_norm_{form}_{label}"] = case("layer_norm", options, x, state, source)
        for label, special in [("offset", offset), ("constant_row", constant)]:
            n = special.shape[-1]
            # PyTorch's kernel takes x * rstd - mean * rstd and is off by 2e-12 here (found with 50 digits).
            options = {"shape": [n], "eps": eps, "form": form, "gamma": True, "beta": True,
                       "composed": label == "offset"}
            cases[f"layer_norm_{form}_{label}"] = case(
                "layer_norm", options, special, {"weight": source.draw(n), "bias": source.draw(n)}, source)
    big_eps = {"shape": [5], "eps": 0.5, "form": "population", "gamma": True, "beta": True}
    for form in ["population", "unbiased"]:
        cases[f"layer_norm_{form}_eps"] = case("layer_norm", dict(big_eps, form=form), x,
                                               {"weight": source.draw(5), "bias": source.draw(5)}, source)
    cases["layer_norm_one_row"] = case("layer_norm", big_eps, source.draw(5),
                                       {"weight": source.draw(5), "bias": source.draw(5)}, source)
    for label, shape, gamma, eps in [("last", [5], True, 1e-5), ("last_plain", [5], False, 1e-5),
                                     ("two_axes", [3, 5], True, 1e-5), ("two_axes_plain", [3, 5], False, 1e-5),
                                     ("eps", [5], True, 0.5)]:
        cases["rms_norm_" + label] = case("rms_norm", {"shape": shape, "eps": eps, "gamma": gamma}, x,
                                          {"weight": source.draw(*shape)} if gamma else {}, source)


def generate():
    source = Source(1)
    cases = {}
    norm_cases(cases, source)
    for label, lead in [("row", []), ("matrix", [3]), ("batch", [2, 3]), ("four_axes", [2, 1, 2])]:
        for bias in [True, False]:
            state = {"weight": source.draw(4, 5)}
            if bias:
                state["bias"] = source.draw(4)
            cases[f"linear_{label}" + ("" if bias else "_no_bias")] = case(
                "linear", {"in": 5, "out": 4, "bias": bias}, source.draw(*lead, 5), state, source)
    for label, ids in [("vector", [3, 0, 3, 6]), ("matrix", [[1, 1, 4], [0, 6, 1]])]:
        for tied in [False, True]:
            cases[f"embedding_{label}" + ("_tied" if tied else "")] = embedding_case(
                {"count": 7, "features": 3, "tied": tied}, torch.tensor(ids), source.draw(7, 3), source)
    for activation in ACTIVATIONS:
        for bias in [True, False]:
            maps = {"linear1": (8, 3), "linear2": (3, 8)}
            if activation.endswith("glu"):
                maps["linear_gate"] = (8, 3)
            state = {}
            for name, shape in maps.items():
                state[name + ".weight"] = source.draw(*shape, low=-1, high=1)
                if bias:
                    state[name + ".bias"] = source.draw(shape[0], low=-1, high=1)
            cases[f"feed_forward_{activation}" + ("" if bias else "_no_bias")] = case(
                "feed_forward", {"activation": activation, "d_model": 3, "d_ff": 8, "bias": bias, "dropout": 0.5},
                source.draw(2, 2, 3), state, source)
    for p in [0.0, 0.5, 1.0]:
        cases[f"dropout_eval_{p}".replace(".", "_")] = case("dropout_eval", {"p": p}, source.draw(2, 3), {}, source)
    return cases
