"""Whatever comes in from outside, in any number: an admission gives a value or a reason, and never an exception."""
