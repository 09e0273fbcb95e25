"""Weights to and from PyTorch. Files are read and written by the published layout of safetensors, in a few lines of
their own, so that a mistake of the library cannot hide in a shared reader.

    exchange.py make FOLDER    writes a model of each kind with an input and PyTorch's output
    exchange.py check FOLDER   compares files that xgrad wrote (NAME.safetensors, NAME.io.safetensors) with PyTorch
"""
import json
import struct
import sys

import torch
from torch import nn
from torch.nn import functional as F

DTYPES = {"F32": torch.float32, "F64": torch.float64}


def read(path):
    with open(path, "rb") as file:
        blob = file.read()
    (length,) = struct.unpack("<Q", blob[:8])
    header = json.loads(blob[8 : 8 + length])
    header.pop("__metadata__", None)
    data = bytearray(blob[8 + length :])
    return {
        name: torch.frombuffer(data[begin:end], dtype=DTYPES[t["dtype"]]).reshape(t["shape"])
        for name, t in header.items()
        for begin, end in [t["data_offsets"]]
    }


def write(path, tensors):
    header, data = {}, b""
    for name, tensor in tensors.items():
        numbers = tensor.detach().contiguous().numpy().astype("<f4").tobytes()
        offsets = [len(data), len(data) + len(numbers)]
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": offsets}
        data += numbers
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


class FeedForward(nn.Module):
    def __init__(self, activation):
        super().__init__()
        self.activation = activation
        self.linear1 = nn.Linear(6, 10)
        if activation in ("swiglu", "geglu"):
            self.linear_gate = nn.Linear(6, 10)
        self.linear2 = nn.Linear(10, 6)

    def forward(self, x):
        act = {
            "relu": F.relu,
            "gelu": F.gelu,
            "gelu_tanh": lambda h: F.gelu(h, approximate="tanh"),
            "silu": F.silu,
            "swiglu": lambda h: F.silu(self.linear_gate(x)) * h,
            "geglu": lambda h: F.gelu(self.linear_gate(x)) * h,
        }[self.activation]
        return self.linear2(act(self.linear1(x)))


def models():
    for activation in ("relu", "gelu", "gelu_tanh", "silu", "swiglu", "geglu"):
        yield "ffn_" + activation, FeedForward(activation)
    yield "layer_norm", nn.LayerNorm(6)
    yield "regression", nn.Sequential(nn.Linear(6, 50), nn.ReLU(), nn.Linear(50, 1))


def main(command, folder):
    torch.manual_seed(1)
    for name, model in models():
        path = f"{folder}/{name}"
        if command == "make":
            for parameter in model.parameters():
                nn.init.normal_(parameter, std=0.5)
            x = torch.randn(3, 6)
            write(path + ".safetensors", model.state_dict())
            write(path + ".io.safetensors", {"x": x, "y": model(x)})
        else:
            model.load_state_dict(read(path + ".safetensors"), strict=True)
            io = read(path + ".io.safetensors")
            torch.testing.assert_close(model(io["x"]), io["y"], rtol=1e-5, atol=1e-5)


main(*sys.argv[1:])
