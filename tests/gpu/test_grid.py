"""Every op on the GPU against float64 on the GPU, over a grid of rows, widths and types, aligned and not.

Call: test_grid.py LIBRARY [--small | --calls]. --small: few sizes, one for each way a row can be laid out. --calls:
these in two types, only called, with numbers that are made on the CPU: almost no kernel but ours runs (for
compute-sanitizer, which is slow). Exits 1 if one is off by more than the roundings allow, 2 without a GPU.
"""

import sys

import torch

EPS = 1e-5
ROWS = (1, 2, 33, 1000, 65536)
WIDTHS = (1, 2, 7, 8, 31, 64, 65, 100, 768, 769, 1024, 2048, 4096, 5125, 8192, 12288, 16384, 32768, 40001, 65536)
SMALL = ((1, 1), (3, 7), (33, 64), (5, 769), (5, 2048), (5, 4096), (2, 12289), (2, 40001), (1, 65536))
LARGEST = 1 << 26  # elements of one tensor
# Half an ulp of the type, and of the type of the sums.
UNITS = {
    torch.float32: (2**-24, 2**-24),
    torch.float64: (2**-53, 2**-53),
    torch.float16: (2**-11, 2**-24),
    torch.bfloat16: (2**-8, 2**-24),
}
KINDS = ("rms_norm", "layer_norm", "center")


def centered(x):
    """Twice: the rounding of a mean far from zero is itself a mean, and float64 is judged too."""
    for _ in range(2):
        x = x - x.mean(-1, keepdim=True)
    return x


def exact(kind, x):
    if kind == "center":
        return centered(x)
    if kind == "layer_norm":
        x = centered(x)
    return x / torch.sqrt((x * x).mean(-1, keepdim=True) + EPS)


def call(kind, x, weight, bias, residual):
    name = f"add_{kind}" if residual is not None else kind
    more = () if kind == "center" else (EPS,)
    inputs = (x,) if residual is None else (x, residual)
    result = getattr(torch.ops.normlens, name)(*inputs, weight, bias, *more)
    return result if residual is not None else (x, result)


def error(kind, x, weight, bias, residual):
    """The largest error, as a share of what is allowed; see tests/kernels/norm_trial.cpp for where that comes from."""
    summed, y = call(kind, x, weight, bias, residual)
    plain = exact(kind, summed.double())
    scaled = plain if weight is None else plain * weight.double()
    expected = scaled if bias is None else scaled + bias.double()
    unit, sum_unit = UNITS[x.dtype]
    growth = 4 * (x.shape[-1] / 16) ** 0.5 + 8
    deviation = (plain * plain).mean(-1, keepdim=True).sqrt() if kind == "center" else 1.0
    of_plain = sum_unit * ((3 * growth + 2) * deviation + (2.5 * growth + 11) * plain.abs())
    allowed = of_plain * (1.0 if weight is None else weight.double().abs())
    smallest = torch.finfo(x.dtype).smallest_normal * torch.finfo(x.dtype).eps
    allowed = allowed + sum_unit * (scaled.abs() + expected.abs()) + unit * (expected.abs() + allowed) + smallest
    worst = ((y.double() - expected).abs() / allowed).max().item()
    if residual is not None and not torch.equal(summed, x + residual):
        return float("inf")
    return worst


def check_point(dtype, rows, width, offset):
    """Widths, strides and addresses: `offset` elements lie before the first row."""
    memory = torch.randn(2, rows * width + offset, device="cuda", dtype=torch.float32).to(dtype) + 0.3
    x, residual = (part[offset:].view(rows, width) for part in memory)
    weight, bias = torch.randn(2, width, device="cuda").to(dtype)
    for kind in KINDS:
        for arguments in ((x, weight, bias, None), (x, None, None, None), (x, weight.float(), None, residual)):
            yield kind, error(kind, *arguments)


def call_all():
    """Every op at every small size, in a type of four bytes and one of two."""
    calls = 0
    for dtype in (torch.float32, torch.bfloat16):
        for rows, width in SMALL:
            for offset in (0, 1):
                memory = torch.randn(2, rows * width + offset).to(dtype).cuda()
                x, residual = (part[offset:].view(rows, width) for part in memory)
                weight, bias = torch.randn(2, width).to(dtype).cuda()
                for kind in KINDS:
                    for more in (None, residual):
                        call(kind, x, weight, bias, more)
                        calls += 1
    torch.cuda.synchronize()
    print(f"{calls} calls")
    return 0


def main(library, small=False, calls=False):
    if not torch.cuda.is_available():
        print("test_grid: torch sees no GPU on this machine", file=sys.stderr)
        return 2
    torch.ops.load_library(library)
    torch.manual_seed(5)
    if calls:
        return call_all()
    sizes = SMALL if small else [(rows, width) for rows in ROWS for width in WIDTHS if rows * width <= LARGEST]
    worst, failed, checked = 0.0, 0, 0
    for dtype in UNITS:
        for rows, width in sizes:
            for offset in (0, 1):
                for kind, share in check_point(dtype, rows, width, offset):
                    checked += 1
                    worst = max(worst, share)
                    if not share <= 1.0:  # NaN fails too
                        failed += 1
                        print(f"off: {kind} {dtype} {rows} x {width}, offset {offset}: {share:.2f} of the allowed error")
    print(f"{checked} checked, {failed} failed; the largest error is {worst:.2f} of what is allowed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], "--small" in sys.argv[2:], "--calls" in sys.argv[2:]))
