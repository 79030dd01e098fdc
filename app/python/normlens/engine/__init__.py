"""The engine program: where it is, and what is said to it."""
