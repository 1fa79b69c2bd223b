"""From the cases of a run to the figures that are compared."""

from __future__ import annotations

from typing import Any

Cases = dict[str, dict[str, Any]]
HOSTILE = "hostile "


def headline(cases: Cases) -> dict[str, float]:
    """The figures at the top of the report; docs of the command say what each is."""
    alone_ms = cases["alone"]["lag"]["p99_ms"]
    lags_ms = {name: case["lag"]["p99_ms"] for name, case in cases.items() if "lag" in case}
    kind, ill = (
        max(lag for name, lag in lags_ms.items() if name.startswith(HOSTILE) is hostile) for hostile in (False, True)
    )
    return {
        "point_ratio": round(per_core(cases, "point x16") / per_core(cases, "bare x16"), 3),
        "point_p99_ms": cases["point x1"]["p99_ms"],
        "hop_p99_ms": cases["hop x1"]["p99_ms"],
        "sse_p99_ms": cases["followers"]["delay"]["p99_ms"],
        "lag_ratio": round(kind / alone_ms, 2),
        "hostile_lag_ratio": round(ill / alone_ms, 2),
    }


def per_core(cases: Cases, name: str) -> float:
    """Answers in a second of the worker's processor, less what it takes for the stream alone."""
    used = cases[name]["worker_cores"] - cases["alone"]["worker_cores"]
    if used <= 0:
        raise ValueError(f"{name} took nothing of the worker's core: {used:.3f}")
    return float(cases[name]["per_second"] / used)
