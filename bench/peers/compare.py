"""Times what a user would pick instead of attend on the cases of bench/cases, in turns with attend on the same threads.

    build/peers/bin/python bench/peers/compare.py --match 'dot-forward-(12|4)x' --attend build/release/bin/attend

In each round every peer is timed for a while after a warm-up, then `attend bench SUITE --case NAME --json` is. The table has the median over the rounds, and how many
times attend's time each peer takes: above 1 attend is faster. Results are compared with PyTorch's before they are timed.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEFAULTS = {"mechanism": "dot-product", "pass": "forward", "batch": 1, "heads": 1, "queries": 1, "keys": 1, "width": 64, "visible": "all",
            "left": 0, "right": 0, "hidden": 256, "memory": 256, "streams": False}


def read_cases():
    for suite in ("attention", "additive"):
        with open(ROOT / "bench/cases" / f"{suite}.toml", "rb") as file:
            for case in tomllib.load(file)["cases"]:
                yield suite, DEFAULTS | case


def last_cache_size():
    sizes = []
    for index in range(5):
        try:
            text = Path(f"/sys/devices/system/cpu/cpu0/cache/index{index}/size").read_text().strip()
        except OSError:
            continue
        sizes.append(int(text[:-1]) * {"K": 1 << 10, "M": 1 << 20}[text[-1]])
    return max(sizes, default=64 << 20)


def dot_inputs(case):
    """Copies of query, key and value [B, H, L, D]: one, or as many as are four times the last cache."""
    import torch
    copies = 1
    if case["streams"]:
        copies = 4 * last_cache_size() // (2 * 4 * case["batch"] * case["heads"] * case["keys"] * case["width"]) + 2
    torch.manual_seed(1)
    return [tuple(torch.randn(case["batch"], case["heads"], length, case["width"]) for length in (case["queries"], case["keys"], case["keys"]))
            for _ in range(copies)]


def torch_composed(case, inputs, threads):
    """baddbmm, softmax, bmm."""
    import torch
    if case["visible"] != "all":
        return None
    count, scale = case["batch"] * case["heads"], case["width"] ** -0.5
    flat = [tuple(t.reshape(count, t.shape[2], t.shape[3]) for t in copy) for copy in inputs]
    empty = torch.empty(1)

    def form(q, k, v):
        return torch.bmm(torch.softmax(torch.baddbmm(empty, q, k.transpose(1, 2), beta=0, alpha=scale), -1), v).reshape(inputs[0][0].shape[:3] + v.shape[-1:])
    return torch_runner(case, flat, form, inputs[0][0].shape)


def torch_fused(case, inputs, threads):
    """scaled_dot_product_attention, as PyTorch chooses."""
    import torch
    if case["visible"] == "band":
        return None
    causal = case["visible"] == "causal"
    return torch_runner(case, inputs, lambda q, k, v: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal), inputs[0][0].shape)


def torch_runner(case, copies, form, shape):
    import torch
    if case["pass"] == "forward":
        def forward(i):
            with torch.no_grad():
                return form(*copies[i % len(copies)])
        return forward
    leaves = [t.clone().requires_grad_() for t in copies[0]]
    torch.manual_seed(2)
    upstream = torch.randn(shape)

    def both(i):
        output = form(*leaves)
        torch.autograd.grad(output, leaves, upstream)
        return output.detach()
    return both


def onnx_session(graph_node, inputs, opset, domain, threads):
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper
    graph = helper.make_graph([graph_node], "attention", [helper.make_tensor_value_info(n, TensorProto.FLOAT, t.shape) for n, t in inputs.items()],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    opsets = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    model = helper.make_model(graph, opset_imports=opsets, ir_version=11)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def onnx_mha(case, inputs, threads):
    """MultiHeadAttention of com.microsoft, [B, L, H·D]."""
    from onnx import helper
    if case["pass"] != "forward" or case["visible"] == "band":
        return None
    feeds = [{n: t.transpose(1, 2).reshape(t.shape[0], t.shape[2], -1).contiguous().numpy() for n, t in zip("qkv", copy)} for copy in inputs]
    node = helper.make_node("MultiHeadAttention", ["q", "k", "v"], ["y"], domain="com.microsoft", num_heads=case["heads"],
                            unidirectional=int(case["visible"] == "causal"))
    session = onnx_session(node, feeds[0], 21, "com.microsoft", threads)

    def run(i):
        import torch
        y = torch.from_numpy(session.run(None, feeds[i % len(feeds)])[0])
        return y.view(y.shape[0], y.shape[1], case["heads"], -1).transpose(1, 2)
    return run


def onnx_attention(case, inputs, threads):
    """Attention of opset 23, [B, H, L, D]."""
    from onnx import helper
    if case["pass"] != "forward" or case["visible"] == "band":
        return None
    feeds = [{n: t.numpy() for n, t in zip("qkv", copy)} for copy in inputs]
    node = helper.make_node("Attention", ["q", "k", "v"], ["y"], is_causal=int(case["visible"] == "causal"))
    session = onnx_session(node, feeds[0], 23, None, threads)

    def run(i):
        import torch
        return torch.from_numpy(session.run(None, feeds[i % len(feeds)])[0])
    return run


def openvino_sdpa(case, inputs, threads):
    """ScaledDotProductAttention with the float32 hint."""
    import openvino
    from openvino import opset13
    if case["pass"] != "forward" or case["visible"] == "band":
        return None
    parameters = [opset13.parameter(list(t.shape), openvino.Type.f32) for t in inputs[0]]
    model = openvino.Model([opset13.scaled_dot_product_attention(*parameters, causal=case["visible"] == "causal")], parameters)
    compiled = openvino.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1})
    requests = []
    for copy in inputs:
        request = compiled.create_infer_request()
        for place, tensor in enumerate(copy):
            request.set_input_tensor(place, openvino.Tensor(tensor.numpy(), shared_memory=True))
        requests.append(request)

    def run(i):
        import torch
        request = requests[i % len(requests)]
        request.infer()
        return torch.from_numpy(request.get_output_tensor(0).data)
    return run


def additive_inputs(case):
    import torch
    torch.manual_seed(1)
    B, H, Lq, Lk, A, M = (case[k] for k in ("batch", "heads", "queries", "keys", "hidden", "memory"))
    return [(torch.randn(B, H, Lq, A), torch.randn(B, H, Lk, A), torch.randn(B, H, Lk, M), torch.randn(A) / 4)]


def additive_form(q, k, v, energy):
    import torch
    return torch.matmul(torch.softmax(torch.matmul(torch.tanh(q.unsqueeze(3) + k.unsqueeze(2)), energy), -1), v)


def additive_eager(case, inputs, threads):
    """The sum of all pairs, tanh, product, softmax, product."""
    return torch_runner(case, inputs, additive_form, inputs[0][0].shape[:3] + inputs[0][2].shape[-1:])


def additive_compiled(case, inputs, threads):
    """The same under torch.compile."""
    import torch
    return torch_runner(case, inputs, torch.compile(additive_form, dynamic=False), inputs[0][0].shape[:3] + inputs[0][2].shape[-1:])


PEERS = {"dot-product": {"torch composed": torch_composed, "torch SDPA": torch_fused, "ORT MHA": onnx_mha, "ORT Attention": onnx_attention, "OpenVINO": openvino_sdpa},
         "additive": {"torch eager": additive_eager, "torch.compile": additive_compiled}}


def sample(run, seconds):
    """The median time of a call in milliseconds. Pools of other peers have gone to sleep before it."""
    time.sleep(0.05)
    for i in range(2):
        run(i)
    times, started = [], time.perf_counter()
    while len(times) < 3 or time.perf_counter() - started < seconds:
        before = time.perf_counter()
        run(len(times))
        times.append(time.perf_counter() - before)
    return statistics.median(times) * 1e3


def attend_run(attend, suite, name, threads, seconds):
    ending = subprocess.run([attend, "bench", suite, "--case", name, "--threads", str(threads), "--seconds", str(seconds), "--fused-only", "--json"],
                            cwd=ROOT, capture_output=True, text=True)
    if not ending.stdout:
        raise SystemExit(f"{name}: {ending.stderr}")
    if ending.returncode != 0:  # a peak that was measured wrong: the times are there all the same
        print(ending.stderr, end="", file=sys.stderr)
    return json.loads(ending.stdout)


def compare(suite, case, arguments):
    import torch
    inputs = dot_inputs(case) if case["mechanism"] == "dot-product" else additive_inputs(case)
    runs, wanted = {}, None
    for name, make in PEERS[case["mechanism"]].items():
        run = make(case, inputs, arguments.threads)
        if run is None:
            continue
        got = run(0)
        wanted = got if wanted is None else wanted
        if not torch.allclose(got, wanted, atol=1e-4, rtol=1e-4):
            raise SystemExit(f"{case['name']}: {name} differs from the others by {(got - wanted).abs().max():.3g}")
        runs[name] = run
    times = {name: [] for name in ["attend", *runs]}
    for _ in range(arguments.rounds):
        measured = attend_run(arguments.attend, suite, case["name"], arguments.threads, arguments.seconds)
        fused = measured["cases"][0]["fused_ms"]
        if fused is None:
            return {"name": case["name"], "no_fused_path": measured["cases"][0]["no_fused_path"]}
        times["attend"].append(fused)
        for name, run in runs.items():
            times[name].append(sample(run, arguments.seconds))
    own = times["attend"]
    return {"name": case["name"], "attend_ms": statistics.median(own), "peak_share": measured["cases"][0]["peak_share"],
            "peers": {name: {"ms": statistics.median(t), "ratio": statistics.median(a / b for a, b in zip(t, own))} for name, t in times.items() if name != "attend"}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attend", default=str(ROOT / "build/release/bin/attend"), help="the tool (default: build/release/bin/attend)")
    parser.add_argument("--match", default="", help="a regular expression that names of cases hold")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.3, help="of timing for each peer in each round")
    parser.add_argument("--json", action="store_true", help="one JSON object a line instead of the table")
    arguments = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(arguments.threads)  # before torch is imported
    import torch
    torch.set_num_threads(arguments.threads)
    for suite, case in read_cases():
        if not re.search(arguments.match, case["name"]):
            continue
        result = compare(suite, case, arguments)
        if arguments.json:
            print(json.dumps(result), flush=True)
        elif "no_fused_path" in result:
            print(f"{case['name']:42} no fused path", flush=True)
        else:
            fastest = min(peer["ratio"] for peer in result["peers"].values()) if result["peers"] else float("nan")
            print(f"{case['name']:42} attend {result['attend_ms']:9.4g} ms  {fastest:5.2f}x  " +
                  "  ".join(f"{name} {peer['ms']:.4g} ms ({peer['ratio']:.2f}x)" for name, peer in result["peers"].items()), flush=True)


if __name__ == "__main__":
    sys.exit(main())
