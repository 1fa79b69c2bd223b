"""The gate: what must be green before anything gets on main. `python3 -m scripts.gate`; standard library only."""
