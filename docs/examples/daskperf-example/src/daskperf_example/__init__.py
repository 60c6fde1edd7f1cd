"""Word counts and image blur: something small to be measured."""
