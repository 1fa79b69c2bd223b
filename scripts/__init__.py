"""Programs of the checkout itself; no part of the product."""
