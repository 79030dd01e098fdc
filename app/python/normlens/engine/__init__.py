"""The engine program: where it is, and the requests to it."""
