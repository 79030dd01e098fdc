"""What the engine found, as objects that print well in a terminal and in a notebook."""
